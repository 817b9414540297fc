"use strict";

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";
const ICONS = {
  start: "M5 5v14M19 5 9 12l10 7z",
  back: "M16 5 7 12l9 7z",
  play: "M8 5v14l11-7z",
  pause: "M8 5v14M16 5v14",
  forward: "m8 5 9 7-9 7z",
  end: "M19 5v14M5 5l10 7-10 7z",
  copy: "M9 9h10v11H9zM5 15V4h10",
  download: "M12 4v11m-5-5 5 5 5-5M5 20h14",
  close: "M6 6l12 12M18 6 6 18",
};

function make(tag, className, parent, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  if (parent) parent.append(node);
  return node;
}

function makeIcon(name, parent) {
  const svg = document.createElementNS(SVG_NAMESPACE, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "dlm-icon dlm-icon-" + name);
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG_NAMESPACE, "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  parent.append(svg);
  return path;
}

function makeButton(className, parent, label, onClick) {
  const node = make("button", "dlm-button " + className, parent);
  node.type = "button";
  nameButton(node, label);
  node.addEventListener("click", onClick);
  return node;
}

/** Texts to click that save a file, one for each [label, what it does]; there is nothing to save at first. */
function makeSaves(parent, saves) {
  return saves.map(([label, save]) => {
    const node = make("button", "dlm-save", parent, label);
    node.type = "button";
    node.disabled = true;
    node.addEventListener("click", save);
    return node;
  });
}

/** A thin bar that fills: call what is returned with a share, and whether there is any more to come. */
function makeBar(parent) {
  const bar = make("div", "dlm-filling", parent);
  const done = make("div", "", bar);
  return (share, over) => {
    done.style.inlineSize = 100 * clamp(share, 0, 1) + "%";
    bar.hidden = over;
  };
}

function nameButton(node, label) {
  if (node.title === label) return;
  node.title = label;
  node.setAttribute("aria-label", label);
}

// Patching only what differs keeps a 128-token frame cheap.
function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function setHidden(node, hidden) {
  if (node.hidden !== hidden) node.hidden = hidden;
}

const WHITESPACE_GLYPHS = { " ": "␣", "\n": "↵", "\r": "␍", "\t": "⇥", "\u0000": "␀", "\u00a0": "⍽" };

/** The piece as a person can read it: whitespace drawn, special cells named. */
function readablePiece(piece, labels) {
  if (typeof piece === "number") return labels["special_" + piece] || "";
  if (piece === "") return labels.joined;
  return piece.replace(/[ \n\r\t\u0000\u00a0]/g, (character) => WHITESPACE_GLYPHS[character]);
}

function clamp(value, low, high) {
  return Math.min(high, Math.max(low, value));
}

/** Colours of the theme in force, as a canvas understands them. */
function readColours(root) {
  const probe = make("span", "", root);
  const read = (name) => {
    probe.style.color = "var(--dlm-" + name + ")";
    return getComputedStyle(probe).color;
  };
  const names = ["ink", "muted", "line", "panel", "accent", "map-0", "map-1", "map-2", "map-3", "surface"];
  const colours = Object.fromEntries(names.map((name) => [name, read(name)]));
  probe.remove();
  return colours;
}

/** 101 RGB triples from the ramp, one for each percent. */
function readRamp(colours) {
  const canvas = document.createElement("canvas");
  canvas.width = 101;
  canvas.height = 1;
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  const gradient = pen.createLinearGradient(0, 0, 101, 0);
  for (let i = 0; i < 4; i++) gradient.addColorStop(i / 3, colours["map-" + i]);
  pen.fillStyle = gradient;
  pen.fillRect(0, 0, 101, 1);
  return pen.getImageData(0, 0, 101, 1).data;
}

/** Fit a canvas to its box at the screen's density; returns null while it has no size. */
function fitCanvas(canvas) {
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  if (!width || !height) return null;
  const ratio = window.devicePixelRatio || 1;
  const pixelWidth = Math.round(width * ratio);
  const pixelHeight = Math.round(height * ratio);
  if (canvas.width !== pixelWidth) canvas.width = pixelWidth;
  if (canvas.height !== pixelHeight) canvas.height = pixelHeight;
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return { pen, width, height };
}
