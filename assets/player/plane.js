"use strict";

const PLANE_PADDING = 18;

/** The path of one cell's estimated embedding, from noise to its word. */
function createPlane(context) {
  const { labels, view, store } = context;
  const element = make("figure", "dlm-chart dlm-plane");
  const head = make("figcaption", "dlm-chart-head", element);
  const title = make("span", "dlm-chart-title", head);
  const canvas = make("canvas", "dlm-canvas", element);
  canvas.setAttribute("role", "img");
  make("div", "dlm-plane-caption", element, labels.plane_caption);

  function draw() {
    const known = store.frames.some((frame) => frame.rows[view.row] && frame.rows[view.row].xy);
    setHidden(element, !known);
    const box = known ? fitCanvas(canvas) : null;
    if (!box) return;
    const cell = planeCell(context);
    const word = readablePiece(context.frame().rows[view.row].p[cell], labels);
    setText(title, fillLabel(labels.plane, { token: word, position: cell }));
    canvas.setAttribute("aria-label", fillLabel(labels.plane_label, { position: cell }));
    const project = planeProjection(context, box);
    const now = planeLabel(context, box, project, cell);
    drawLandmarks(context, box, project, now);
    drawOthers(context, box.pen, project, cell);
    drawPath(context, box, project, cell);
    if (now) drawNow(context, box, now);
  }

  return { element, canvas, draw };
}

/** The chosen cell, or else the free one that changed its mind most often. */
function planeCell({ store, view }) {
  if (view.cell !== null) return view.cell;
  const row = store.last().rows[view.row];
  const end = textLength(row);
  let best = 0;
  let most = -1;
  store.changes(view.row).forEach((count, position) => {
    if (count <= most || isGiven(row, position) || position >= end) return;
    most = count;
    best = position;
  });
  return best;
}

function planeProjection(context, { width, height }) {
  const bounds = planeBounds(context);
  const across = (width - 2 * PLANE_PADDING) / (bounds.right - bounds.left || 1);
  const down = (height - 2 * PLANE_PADDING) / (bounds.bottom - bounds.top || 1);
  return (x, y) => [PLANE_PADDING + (x - bounds.left) * across, height - PLANE_PADDING - (y - bounds.top) * down];
}

function planeBounds({ store, view }) {
  const bounds = { left: Infinity, right: -Infinity, top: Infinity, bottom: -Infinity };
  const include = (x, y) => {
    bounds.left = Math.min(bounds.left, x);
    bounds.right = Math.max(bounds.right, x);
    bounds.top = Math.min(bounds.top, y);
    bounds.bottom = Math.max(bounds.bottom, y);
  };
  for (const frame of store.frames) {
    const xy = frame.rows[view.row].xy || [];
    for (let i = 0; i + 1 < xy.length; i += 2) include(xy[i], xy[i + 1]);
  }
  for (const [, x, y] of (store.head && store.head.landmarks) || []) include(x, y);
  return bounds;
}

function planeFont(context, weight) {
  return weight + " 12px " + getComputedStyle(context.root).fontFamily;
}

function drawLandmarks(context, { pen, width, height }, project, now) {
  const { store, theme, labels } = context;
  const taken = now ? [now.area] : [];
  pen.font = planeFont(context, "400");
  pen.textBaseline = "middle";
  for (const [id, x, y] of (store.head && store.head.landmarks) || []) {
    const text = readablePiece(store.piece(id), labels).replace(/␣/g, "");
    const [px, py] = project(x, y);
    const area = { left: px - 2, right: px + 8 + pen.measureText(text).width, top: py - 8, bottom: py + 8 };
    const fits = area.right < width && area.top > 0 && area.bottom < height;
    if (!fits || taken.some((other) => overlap(area, other))) continue;
    taken.push(area);
    pen.fillStyle = theme.colours.muted;
    dot(pen, px, py, 1.5);
    pen.fillText(text, px + 5, py);
  }
}

function overlap(a, b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

function drawOthers(context, pen, project, chosen) {
  const xy = context.frame().rows[context.view.row].xy;
  if (!xy) return;
  pen.fillStyle = context.theme.colours.muted;
  pen.globalAlpha = 0.35;
  for (let cell = 0; cell * 2 + 1 < xy.length; cell++) {
    if (cell !== chosen) dot(pen, ...project(xy[cell * 2], xy[cell * 2 + 1]), 2);
  }
  pen.globalAlpha = 1;
}

function drawPath(context, { pen }, project, cell) {
  const { store, view, theme } = context;
  const points = store.frames.map((frame) => {
    const xy = frame.rows[view.row].xy;
    return xy ? project(xy[cell * 2], xy[cell * 2 + 1]) : null;
  });
  pen.strokeStyle = theme.colours.accent;
  pen.lineCap = "round";
  for (let index = 1; index < points.length; index++) {
    if (!points[index] || !points[index - 1]) continue;
    const travelled = index <= view.index;
    pen.globalAlpha = travelled ? 0.35 + 0.65 * (index / points.length) : 0.15;
    pen.lineWidth = travelled ? 2 : 1;
    strokeLine(pen, ...points[index - 1], ...points[index]);
  }
  pen.globalAlpha = 1;
}

/** The chosen cell's word where it now is, and the area that its dot and its label take; null without a place. */
function planeLabel(context, { pen, width }, project, cell) {
  const { xy, p } = context.frame().rows[context.view.row];
  if (!xy) return null;
  const [x, y] = project(xy[cell * 2], xy[cell * 2 + 1]);
  const text = readablePiece(p[cell], context.labels).replace(/␣/g, "");
  pen.font = planeFont(context, "600");
  const size = pen.measureText(text).width;
  const left = x + 9 + size > width ? x - 9 - size : x + 9;
  const area = { left: Math.min(left, x - 6), right: Math.max(left + size, x + 6), top: y - 9, bottom: y + 9 };
  return { x, y, text, left, area };
}

function drawNow(context, { pen }, { x, y, text, left }) {
  const { theme } = context;
  pen.fillStyle = theme.colours.accent;
  dot(pen, x, y, 5);
  pen.font = planeFont(context, "600");
  pen.textBaseline = "middle";
  pen.lineWidth = 4;
  pen.lineJoin = "round";
  pen.strokeStyle = theme.colours.panel;
  pen.strokeText(text, left, y);
  pen.fillStyle = theme.colours.ink;
  pen.fillText(text, left, y);
}

function dot(pen, x, y, radius) {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
  pen.fill();
}
