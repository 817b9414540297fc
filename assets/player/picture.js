"use strict";

// One PNG of what is on screen: the text, its map and the numbers, laid out for a slide.

const PICTURE_WIDTH = 1200;
const PICTURE_MARGIN = 48;
const PICTURE_SCALE = 2;
const PICTURE_FONT = 26;
const PICTURE_LINE = 48;
const PICTURE_MAP = 220;

function savePicture(context, name) {
  drawPicture(context).toBlob((blob) => saveFile(name, "image/png", blob), "image/png");
}

function drawPicture(context) {
  const row = context.frame().rows[context.view.row];
  const canvas = document.createElement("canvas");
  const pen = canvas.getContext("2d");
  const serif = getComputedStyle(context.root.querySelector(".dlm-line")).fontFamily;
  const font = PICTURE_FONT + "px " + serif;
  pen.font = font;
  const words = layOutPieces(pen, row.p.slice(0, textLength(row)));
  const textHeight = (words.length ? words[words.length - 1].line + 1 : 1) * PICTURE_LINE;
  const height = PICTURE_MARGIN * 2 + textHeight + PICTURE_MAP + 70;
  canvas.width = PICTURE_WIDTH * PICTURE_SCALE;
  canvas.height = height * PICTURE_SCALE;
  pen.scale(PICTURE_SCALE, PICTURE_SCALE);
  pen.fillStyle = context.theme.colours.surface;
  pen.fillRect(0, 0, PICTURE_WIDTH, height);
  pen.font = font;
  pen.textBaseline = "middle";
  for (const word of words) drawPictureWord(context, pen, row, word);
  drawPictureMap(context, pen, PICTURE_MARGIN + textHeight + 20);
  pen.font = "18px " + getComputedStyle(context.root).fontFamily;
  pen.fillStyle = context.theme.colours.muted;
  pen.fillText(meterParts(context, context.frame()).join(" · "), PICTURE_MARGIN, height - PICTURE_MARGIN);
  return canvas;
}

/** Places of the visible cells, wrapped at the width of the picture. */
function layOutPieces(pen, pieces) {
  const widest = PICTURE_WIDTH - 2 * PICTURE_MARGIN;
  const words = [];
  let x = 0;
  let line = 0;
  pieces.forEach((piece, position) => {
    const slot = piece === MASK ? PICTURE_FONT * 2 : 0;
    const text = typeof piece === "string" ? piece.replace(/[\r\n]/g, "") : "";
    const width = slot || pen.measureText(text).width;
    if (x + width > widest && x > 0) {
      x = 0;
      line++;
    }
    if (width) words.push({ position, text, x: PICTURE_MARGIN + x, line, width });
    x += width;
    if (typeof piece === "string" && piece.includes("\n")) {
      x = 0;
      line++;
    }
  });
  return words;
}

function drawPictureWord(context, pen, row, { position, text, x, line, width }) {
  const { theme, store } = context;
  const y = PICTURE_MARGIN + line * PICTURE_LINE + PICTURE_LINE / 2;
  if (!isGiven(row, position) && row.c) {
    const from = row.c[position] * 4;
    pen.fillStyle = "rgb(" + [theme.ramp[from], theme.ramp[from + 1], theme.ramp[from + 2], 0.22].join() + ")";
    pen.fillRect(x, y - 17, width, 34);
  }
  const open = row.st[position] === "n" || row.st[position] === "d";
  const share = open ? uncertainty(row, position, store.maxEntropy()) : 0;
  pen.filter = share > 0.05 ? "blur(" + (5 * share).toFixed(1) + "px)" : "none";
  pen.globalAlpha = 1 - 0.5 * share;
  pen.fillStyle = theme.colours.ink;
  if (text) pen.fillText(text, x, y);
  else pen.fillRect(x + 4, y + 14, width - 8, 1);
  pen.filter = "none";
  pen.globalAlpha = 1;
}

function drawPictureMap(context, pen, top) {
  const image = document.createElement("canvas");
  paintImage(image, context);
  pen.imageSmoothingEnabled = false;
  pen.drawImage(image, PICTURE_MARGIN, top, PICTURE_WIDTH - 2 * PICTURE_MARGIN, PICTURE_MAP);
}
