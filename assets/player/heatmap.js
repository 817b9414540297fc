"use strict";

const HEATMAP_MODES = ["confidence", "entropy", "order"];

/** Positions across, steps downwards: one pixel per cell and step, scaled up without smoothing. */
function createHeatmap(context) {
  const { labels, view, store } = context;
  const element = make("figure", "dlm-chart dlm-heatmap");
  const head = make("figcaption", "dlm-chart-head", element);
  make("span", "dlm-chart-title", head, labels.heatmap);
  const modes = makeModes(context, head);
  const canvas = make("canvas", "dlm-canvas", element);
  canvas.setAttribute("role", "img");
  const scale = make("div", "dlm-scale", element);
  const low = make("span", "", scale);
  make("span", "dlm-ramp", scale);
  const high = make("span", "", scale);
  const hover = make("span", "dlm-hover", scale);
  const image = document.createElement("canvas");
  let drawn = "";

  function draw() {
    const box = fitCanvas(canvas);
    const row = store.last() && store.last().rows[view.row];
    if (!box || !row) return;
    const key = [store.version, view.row, view.heatmap, context.theme.version].join();
    if (key !== drawn) paintImage(image, context);
    drawn = key;
    box.pen.imageSmoothingEnabled = false;
    box.pen.drawImage(image, 0, 0, box.width, box.height);
    drawMarks(box);
    drawWords();
  }

  function drawMarks({ pen, width, height }) {
    const step = height / image.height;
    const y = (context.frame().s + 0.5) * step;
    fadeLater(context, { pen, width, height }, y + step / 2);
    const target = context.focusedCell();
    if (target !== null) {
      const cell = width / image.width;
      pen.strokeStyle = context.theme.colours.accent;
      pen.lineWidth = 1;
      pen.strokeRect(target * cell, 0.5, cell, height - 1);
    }
    pen.strokeStyle = context.theme.colours.surface;
    pen.lineWidth = 4;
    strokeLine(pen, 0, y, width, y);
    pen.strokeStyle = context.theme.colours.accent;
    pen.lineWidth = 2;
    strokeLine(pen, 0, y, width, y);
  }

  function drawWords() {
    const mode = labels["mode_" + view.heatmap];
    const values = { cells: image.width, n: image.height - 1, mode };
    canvas.setAttribute("aria-label", fillLabel(labels.heatmap_label, values));
    const ends = labels["scale_" + view.heatmap].split("|");
    setText(low, ends[0]);
    setText(high, ends[1]);
    modes.draw();
  }

  function locate(event) {
    const box = canvas.getBoundingClientRect();
    const across = Math.floor(((event.clientX - box.left) / box.width) * image.width);
    const down = Math.floor(((event.clientY - box.top) / box.height) * image.height);
    return { position: clamp(across, 0, image.width - 1), step: clamp(down, 0, image.height - 1) };
  }

  function describe({ position, step }) {
    const frame = store.frames[frameIndexAt(store.frames, step)];
    if (!frame) return;
    const value = heatmapValue(context, frame.rows[view.row], position);
    setText(hover, fillLabel(labels.heatmap_hover, { position, s: frame.s, value }));
  }

  scrubOnDrag(canvas, (event, pressed) => {
    const spot = locate(event);
    if (pressed) context.goStep(spot.step);
    describe(spot);
  });
  canvas.addEventListener("pointerleave", () => setText(hover, ""));
  return { element, canvas, draw };
}

// What has not happened yet at the step on screen stays visible, but behind a veil.
function fadeLater(context, { pen, width, height }, from) {
  pen.globalAlpha = 0.55;
  pen.fillStyle = context.theme.colours.panel;
  pen.fillRect(0, from, width, height - from);
  pen.globalAlpha = 1;
}

function makeModes(context, parent) {
  const group = make("span", "dlm-modes", parent);
  const buttons = HEATMAP_MODES.map((mode) => {
    const label = context.labels["mode_" + mode];
    const node = makeButton("dlm-mode", group, label, () => {
      context.view.heatmap = mode;
      context.redraw();
    });
    make("span", "", node, label);
    return { mode, node };
  });
  return {
    draw: () => buttons.forEach(({ mode, node }) => node.setAttribute("aria-pressed", String(mode === context.view.heatmap))),
  };
}

function scrubOnDrag(canvas, onPoint) {
  let pressed = false;
  canvas.addEventListener("pointerdown", (event) => {
    pressed = true;
    canvas.setPointerCapture(event.pointerId);
    onPoint(event, true);
  });
  canvas.addEventListener("pointermove", (event) => onPoint(event, pressed));
  for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => (pressed = false));
}

function strokeLine(pen, x0, y0, x1, y1) {
  pen.beginPath();
  pen.moveTo(x0, y0);
  pen.lineTo(x1, y1);
  pen.stroke();
}

/** Index of the newest frame at or before a step. */
function frameIndexAt(frames, step) {
  let index = frames.length - 1;
  while (index > 0 && frames[index].s > step) index--;
  return index;
}

function paintImage(image, context) {
  const { store, view, theme } = context;
  const { frames } = store;
  const last = store.last();
  image.width = last.rows[view.row].p.length;
  image.height = store.total() + 1;
  const pen = image.getContext("2d");
  const pixels = pen.createImageData(image.width, image.height);
  const colours = new Uint32Array(pixels.data.buffer);
  const ramp = new Uint32Array(theme.ramp.buffer);
  frames.forEach((frame, index) => {
    const next = frames[index + 1];
    // A sampler may spend several evaluations between two frames: hold the value until the next one.
    for (let step = frame.s; step < (next ? next.s : frame.s + 1); step++) {
      for (let position = 0; position < image.width; position++) {
        const percent = heatmapPercent(context, frame, position);
        if (percent !== null) colours[step * image.width + position] = ramp[Math.round(clamp(percent, 0, 100))];
      }
    }
  });
  pen.putImageData(pixels, 0, 0);
}

/** How warm a cell is, 0 to 100; null leaves it blank. Given cells are blank: nothing was decided there. */
function heatmapPercent(context, frame, position) {
  const { store, view } = context;
  const row = frame.rows[view.row];
  if (!row || isGiven(row, position)) return null;
  if (view.heatmap === "confidence") return row.c ? row.c[position] : null;
  if (view.heatmap === "entropy") return 100 * (1 - uncertainty(row, position, store.maxEntropy()));
  const settled = store.settled(view.row)[position];
  if (settled === NOT_SETTLED || settled > frame.s) return null;
  return 100 * (1 - Math.max(0, settled) / (store.total() || 1));
}

function heatmapValue(context, row, position) {
  if (isGiven(row, position)) return context.labels.state_f;
  if (context.view.heatmap === "confidence") return row.c ? row.c[position] + " %" : "–";
  if (context.view.heatmap === "entropy") return entropyText(context, row, position);
  return context.labels.settled + " " + settledText(context, context.view.row, row, position);
}
