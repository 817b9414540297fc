"use strict";

// From cells to words and sentences and back. A piece of text joins the cell before it when it is "": the two hold the
// bytes of one character, and are never taken apart.

const EMPTY_DOCUMENT = Object.freeze({ ids: [], pieces: [] });

function isDocument(value) {
  if (!value || !Array.isArray(value.ids) || !Array.isArray(value.pieces)) return false;
  const isPiece = (piece) => typeof piece === "string" || Number.isInteger(piece);
  return value.ids.length === value.pieces.length && value.ids.every(Number.isInteger) && value.pieces.every(isPiece);
}

function documentText({ pieces }) {
  return pieces.filter((piece) => typeof piece === "string").join("");
}

function sameIds(a, b) {
  return a.length === b.length && a.every((id, cell) => id === b[cell]);
}

/** The cells that hold one character together with this one, as [start, end]. */
function atomAt(pieces, cell) {
  let start = cell;
  while (start > 0 && pieces[start] === "") start--;
  let end = cell + 1;
  while (pieces[end] === "") end++;
  return [start, end];
}

/** The smallest span of whole characters over this one; an empty one moves behind the character it is in. */
function snapSpan(pieces, start, end) {
  if (start < end) return [atomAt(pieces, start)[0], atomAt(pieces, end - 1)[1]];
  let place = start;
  while (place > 0 && pieces[place] === "") place++;
  return [place, place];
}

/** The same, from any two cells. */
function spanBetween(pieces, a, b) {
  return snapSpan(pieces, Math.min(a, b), Math.max(a, b) + 1);
}

/** For each cell [start, end, home] in characters of the text; its home is its first character that is no space. */
function cellOffsets(pieces) {
  let at = 0;
  return pieces.map((piece) => {
    const text = typeof piece === "string" ? piece : "";
    const start = at;
    at += text.length;
    return [start, at, start + Math.max(0, text.search(/\S/))];
  });
}

/** The parts of a text as [start, end] in characters: its words (with spaces and marks between) or its sentences. */
function segments(text, granularity) {
  const found = new Intl.Segmenter(undefined, { granularity }).segment(text);
  return Array.from(found, ({ index, segment }) => [index, index + segment.length]);
}

/** The spans of cells that each part of the text takes; parts of spaces only are left out. */
function segmentSpans(pieces, granularity) {
  const text = documentText({ pieces });
  const offsets = cellOffsets(pieces);
  const spans = [];
  let cell = 0;
  for (const [from, to] of segments(text, granularity)) {
    const first = cell;
    // Cells without text of their own go with those before them.
    const belongs = ([start, end, home]) => home < to || start === end;
    while (cell < pieces.length && belongs(offsets[cell])) cell++;
    if (cell > first && text.slice(from, to).trim()) spans.push([first, cell]);
  }
  return spans;
}

function spanAround(pieces, cell, granularity) {
  const found = segmentSpans(pieces, granularity).find(([start, end]) => start <= cell && cell < end);
  return found ? snapSpan(pieces, ...found) : atomAt(pieces, cell);
}

const wordSpan = (pieces, cell) => spanAround(pieces, cell, "word");
const sentenceSpan = (pieces, cell) => spanAround(pieces, cell, "sentence");

/** All but the first and the last sentence; of fewer than three, all but the first and the last quarter. */
function middleSpan(pieces) {
  const sentences = segmentSpans(pieces, "sentence");
  const quarter = Math.round(pieces.length / 4);
  const many = sentences.length >= 3;
  const start = many ? sentences[0][1] : quarter;
  const end = many ? sentences[sentences.length - 1][0] : pieces.length - quarter;
  if (start >= end) return null;
  const [from, to] = snapSpan(pieces, start, end);
  return from === 0 && to === pieces.length ? null : [from, to];
}

const BLANK_LENGTH = 1; // tokens that fill a blank: a word, mostly

/** Each run of three underscores or more, with the space before it, which the new word brings itself: [start, end,
    cells], as spans to select. */
function blankSpans(pieces) {
  const offsets = cellOffsets(pieces);
  return [...documentText({ pieces }).matchAll(/_{3,}/g)].map(({ index, 0: blank }) => {
    const under = (cell) => offsets[cell][0] < index + blank.length && index < offsets[cell][1];
    const cells = pieces.map((_, cell) => cell).filter(under);
    const [start, end] = snapSpan(pieces, cells[0], cells[cells.length - 1] + 1);
    return [pieces[start - 1] === " " ? start - 1 : start, end, BLANK_LENGTH];
  });
}

/** Whether a span is a blank and nothing else. */
const isBlank = (pieces, start, end) => /^[ _]*_$/.test(documentText({ pieces: pieces.slice(start, end) }));
const blankAt = (pieces, cell) => blankSpans(pieces).find(([start, end]) => start <= cell && cell < end) || null;

/** Words of a span for a list, without the spaces around them and not longer than a glance. */
function shortWords(pieces, start, end, labels, longest = 32) {
  const span = pieces.slice(start, end);
  const text = documentText({ pieces: span }).trim();
  if (!text) return span.filter((piece) => piece !== "").map((piece) => readablePiece(piece, labels)).join(" ");
  const letters = [...text.replace(/\s+/g, " ")];
  return letters.length <= longest ? letters.join("") : letters.slice(0, longest - 1).join("").trimEnd() + "…";
}
