"use strict";

/** Build a player inside root. See README.md for the options and the data it takes. */
function createPlayer(root, options) {
  const settings = { onPin: null, onUnpin: null, onLive: null, onDraw: null, live: false, autoplay: false, single: false, mode: "full", theme: "host", ...options };
  const context = {
    options: settings,
    labels: { ...DEFAULT_LABELS, ...settings.labels },
    store: createStore(),
    view: { index: 0, follow: true, playing: false, speed: 1, row: 0, cell: null, heatmap: "confidence" },
    theme: { version: 0, colours: null, ramp: null },
  };
  injectStyle(settings.css);
  context.root = buildRoot(root, settings, context.labels);
  context.playback = createPlayback(context);
  const parts = buildParts(context);
  addNavigation(context, parts);
  const forget = [watchTheme(context), listenToKeys(context, parts), listenToCells(context, parts)];
  const drawing = createDrawing(context, parts);
  context.redraw = drawing.request;
  drawing.request();

  return {
    push(message) {
      const kind = context.store.push(message);
      if (kind === "ignored") return;
      if (kind === "new") startRun(context, parts);
      context.playback.chase();
    },
    load(trace, { kept = false } = {}) {
      if (!trace || trace.format !== TRACE_FORMAT || !Array.isArray(trace.frames) || !trace.frames.length) {
        throw new Error(context.labels.bad_trace);
      }
      context.store.load(trace, kept);
      startRun(context, parts);
      context.view.index = trace.frames.length - 1;
      if (settings.autoplay && !kept && !prefersStill()) context.playback.play();
      context.redraw();
    },
    stop() {
      context.store.stop(context.view.follow ? context.view.index : Infinity);
      context.redraw();
    },
    /** Bring the text into view, as when a run starts while the visitor is further down. */
    reveal() {
      const { top } = parts.text.element.getBoundingClientRect();
      if (top >= 0 && top < window.innerHeight / 2) return;
      context.root.scrollIntoView({ block: "start" });
    },
    trace: () => context.store.trace(),
    kept: (slim) => context.store.kept(slim),
    text: (row) => context.text(row || 0),
    /** The text of the newest step there is, whichever is shown. */
    newest: (row) => context.newest(row),
    /** With `single`: the sample to draw. */
    show(row) {
      parts.card.hide();
      context.select(row, null);
    },
    step: () => (context.frame() ? context.frame().s : null),
    goTo: (step) => context.goStep(step),
    play: () => context.playback.play(),
    pause: () => context.playback.pause(),
    settled: (row) => context.store.settled(row || 0),
    csv: () => traceCsv(context.store.trace()),
    page: () => standalonePage(context.store.trace(), settings.source, context.labels, settings.language),
    destroy() {
      context.playback.stop();
      drawing.stop();
      forget.forEach((stop) => stop());
      for (const part of Object.values(parts)) if (part.destroy) part.destroy();
      context.root.remove();
    },
  };
}

/** The style of what is around a player is apart from the player's, which another one on the page may replace. */
function injectStyle(css, part = "player") {
  if (!css) return;
  const id = "dlm-" + part + "-style";
  const style = document.getElementById(id) || make("style", "", document.head);
  style.id = id;
  setText(style, css);
}

function buildRoot(parent, settings, labels) {
  const root = make("div", "dlm-player dlm-mode-" + settings.mode, parent);
  if (settings.theme === "auto") root.classList.add("dlm-auto");
  root.tabIndex = 0;
  root.setAttribute("role", "region");
  root.setAttribute("aria-label", labels.player);
  return root;
}

function buildParts(context) {
  const { root } = context;
  const parts = {};
  parts.notice = createNotice(context);
  parts.text = createTextView(context);
  parts.timeline = createTimeline(context);
  parts.heatmap = createHeatmap(context);
  parts.plane = createPlane(context);
  parts.meter = createMeter(context);
  parts.actions = createActions(context);
  parts.legend = createLegend(context);
  parts.card = createCard(context);
  root.append(parts.notice.element, parts.text.element, parts.timeline.element);
  make("div", "dlm-charts", root).append(parts.heatmap.element, parts.plane.element);
  make("div", "dlm-foot", root).append(parts.meter.element, parts.actions.element);
  root.append(parts.legend.element, parts.card.element);
  return parts;
}

/** The moves every part may ask for. */
function addNavigation(context, parts) {
  const { store, view } = context;
  context.frame = () => store.frames[clamp(view.index, 0, store.frames.length - 1)] || null;
  context.cell = (row, position) => parts.text.cell(row, position);
  context.isLive = () => context.options.live && store.run !== "trace" && store.end === null;
  context.isShown = () => view.index >= store.frames.length - 1;
  context.isBusy = () => context.isLive() || (context.options.live && store.run !== "trace" && view.follow && !context.isShown());
  /** The last step of a run that is over: what it says is final. */
  context.isResult = (frame) => store.end !== null && frame === store.last();
  context.text = (row) => {
    const written = store.end && store.end.texts && store.end.texts[row];
    if (context.isShown() && typeof written === "string") return written;
    return context.frame() ? rowText(context.frame().rows[row]) : "";
  };
  context.newest = (row) => {
    const written = store.end && store.end.texts && store.end.texts[row];
    return typeof written === "string" ? written : rowText(store.last().rows[row]);
  };
  context.focusedCell = () => {
    const target = parts.card.target();
    if (target && target.row === view.row) return target.position;
    return view.cell;
  };
  context.goIndex = (index) => {
    const last = store.frames.length - 1;
    view.index = clamp(index, 0, Math.max(0, last));
    view.follow = view.index === last;
    context.playback.pause();
  };
  context.goStep = (step) => context.goIndex(frameIndexAt(store.frames, step));
  context.select = (row, position) => {
    view.row = row;
    view.cell = position;
    context.redraw();
  };
}

function startRun({ options, view, playback }, parts) {
  playback.stop();
  parts.card.hide();
  Object.assign(view, { index: 0, follow: true, playing: false, row: options.single ? view.row : 0, cell: null });
}

/** Draws at most once per display frame, however many messages arrive. */
function createDrawing(context, parts) {
  let pending = 0;
  let live = false;

  function tell() {
    const now = Boolean(context.frame()) && context.isBusy();
    if (now !== live && context.options.onLive) context.options.onLive(now);
    live = now;
  }

  function draw() {
    pending = 0;
    tell();
    const frame = context.frame();
    context.root.classList.toggle("dlm-is-empty", !frame);
    parts.notice.draw(frame);
    if (!frame) return;
    context.root.dataset.family = context.store.family();
    const previous = context.view.index > 0 ? context.store.frames[context.view.index - 1] : null;
    parts.text.draw(frame, previous);
    parts.timeline.draw(frame);
    parts.meter.draw(frame);
    parts.legend.draw(frame);
    parts.actions.draw(frame);
    parts.card.draw(frame);
    if (context.options.mode === "full") {
      parts.heatmap.draw();
      parts.plane.draw();
    }
    if (context.options.onDraw) context.options.onDraw(context.isResult(frame));
  }

  const request = () => {
    if (!pending) pending = requestAnimationFrame(draw);
  };
  const observer = new ResizeObserver(request);
  observer.observe(parts.heatmap.canvas);
  observer.observe(parts.plane.canvas);
  return {
    request,
    stop() {
      cancelAnimationFrame(pending);
      observer.disconnect();
    },
  };
}

/** Keep the canvas colours in step with the host's theme; returns a function that stops watching. */
function watchTheme(context) {
  const update = () => {
    context.theme.colours = readColours(context.root);
    context.theme.ramp = readRamp(context.theme.colours);
    context.theme.version++;
    if (context.redraw) context.redraw();
  };
  const observer = new MutationObserver(update);
  const watched = { attributes: true, attributeFilter: ["class"] };
  for (const node of [document.documentElement, document.body]) observer.observe(node, watched);
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", update);
  update();
  return () => {
    observer.disconnect();
    system.removeEventListener("change", update);
  };
}
