"use strict";

/** Transport buttons, scrubber, step count and speed. */
function createTimeline(context) {
  const { labels, view, store } = context;
  const element = make("div", "dlm-timeline");
  const buttons = make("div", "dlm-transport", element);
  const add = (name, label, action) => {
    const node = makeButton("dlm-go-" + name, buttons, label, action);
    return { node, path: makeIcon(name, node) };
  };
  const start = add("start", labels.to_start, () => context.goIndex(0));
  const back = add("back", labels.back, () => context.goIndex(view.index - 1));
  const play = add("play", labels.play, () => context.playback.toggle());
  const forward = add("forward", labels.forward, () => context.goIndex(view.index + 1));
  const end = add("end", labels.to_end, () => context.goIndex(Infinity));

  const range = make("input", "dlm-range", element);
  range.type = "range";
  range.min = 0;
  range.step = 1;
  range.setAttribute("aria-label", labels.scrub);
  range.addEventListener("input", () => context.goStep(Number(range.value)));

  const side = make("div", "dlm-timeline-side", element);
  const live = makeButton("dlm-live", side, labels.live_hint, () => context.goIndex(Infinity));
  make("span", "", live, labels.live);
  const count = make("span", "dlm-count", side);
  const slowed = make("span", "dlm-slowed", side, labels.slowed);
  const speed = makeSpeed(context, side);

  function draw(frame) {
    const last = store.frames.length - 1;
    const planned = store.total();
    const text = fillLabel(labels.step, { s: frame.s, n: planned });
    range.max = planned;
    range.value = frame.s;
    range.setAttribute("aria-valuetext", fillLabel(labels.step_of, { s: frame.s, n: planned }));
    range.style.setProperty("--dlm-shown", (100 * frame.s) / (planned || 1) + "%");
    range.style.setProperty("--dlm-loaded", (100 * store.last().s) / (planned || 1) + "%");
    setText(count, text);
    start.node.disabled = back.node.disabled = view.index <= 0;
    end.node.disabled = forward.node.disabled = view.index >= last;
    const moving = context.playback.isMoving();
    play.node.disabled = last < 1 && !moving;
    play.path.setAttribute("d", ICONS[moving ? "pause" : "play"]);
    play.node.classList.toggle("dlm-playing", moving);
    nameButton(play.node, moving ? labels.pause : labels.play);
    setHidden(live, !context.isLive() || view.follow);
    setHidden(slowed, context.isLive() ? view.index >= last - 1 : !isSlowed(store.frames));
    slowed.title = fillLabel(labels.slowed_hint, { seconds: runSeconds(store).toFixed(2) });
    if (Number(speed.value) !== view.speed) speed.value = String(view.speed);
  }

  return { element, draw };
}

function makeSpeed(context, parent) {
  const select = make("select", "dlm-speed", parent);
  select.setAttribute("aria-label", context.labels.speed);
  select.title = context.labels.speed;
  for (const value of SPEEDS) {
    const option = make("option", "", select, value + "×");
    option.value = String(value);
  }
  select.value = "1";
  select.addEventListener("change", () => {
    context.view.speed = Number(select.value);
  });
  return select;
}
