"use strict";

// Arithmetic of holes. A hole is {start, end, cells, pin} over the cells of a document, end exclusive. `cells` is how
// long it becomes: null as it is, a number, or "?" for the model to choose. start === end puts new tokens between two.

function makeHole(start, end, cells = null, pin = null) {
  return { start, end, cells, pin };
}

const FREE_LENGTH = "?";
const PIN_PLACES = ["start", "middle", "end"];
const isPin = (pin) => Boolean(pin) && PIN_PLACES.includes(pin.where) && typeof pin.word === "string";
const holeWidth = (hole) => hole.end - hole.start;
const isInsertion = (hole) => hole.start === hole.end;

/** Tokens the hole will have; one whose length is free counts as it is. */
function holeLength(hole) {
  return typeof hole.cells === "number" ? hole.cells : Math.max(1, holeWidth(hole));
}

/** The same hole with another length: never less than a token, and null when nothing changes. */
function resizeHole(hole, cells) {
  if (cells === FREE_LENGTH) return { ...hole, cells };
  const wanted = Math.max(1, cells === null ? holeWidth(hole) : cells);
  return { ...hole, cells: wanted === holeWidth(hole) ? null : wanted };
}

/** Add a hole; those it touches become one with it. */
function addHole(holes, hole) {
  const touches = (other) => other.start <= hole.end && hole.start <= other.end;
  const apart = holes.filter((other) => !touches(other));
  return [...apart, holes.filter(touches).reduce(mergeHoles, hole)].sort((a, b) => a.start - b.start);
}

function mergeHoles(a, b) {
  const grown = (hole) => (typeof hole.cells === "number" ? hole.cells - holeWidth(hole) : 0);
  const merged = makeHole(Math.min(a.start, b.start), Math.max(a.end, b.end), null, a.pin || b.pin);
  if (a.cells === FREE_LENGTH || b.cells === FREE_LENGTH) return resizeHole(merged, FREE_LENGTH);
  return resizeHole(merged, holeWidth(merged) + grown(a) + grown(b));
}

/** Take cells out of every hole; what is left of a hole goes back to its own length. */
function removeSpan(holes, start, end) {
  return holes.flatMap((hole) => {
    if (hole.end <= start || end <= hole.start) return [hole];
    const rest = [[hole.start, start], [end, hole.end]].filter(([from, to]) => from < to);
    const cells = hole.cells === FREE_LENGTH ? FREE_LENGTH : null;
    return rest.map(([from, to], index) => makeHole(from, to, cells, index ? null : hole.pin));
  });
}

function holeOver(holes, cell) {
  return holes.find((hole) => hole.start <= cell && cell < hole.end) || null;
}

function replaceHole(holes, old, hole) {
  return holes.map((other) => (other === old ? hole : other));
}

/** Cells the text will have once its holes are filled. */
function lengthAfter(count, holes) {
  return holes.reduce((sum, hole) => sum - holeWidth(hole) + holeLength(hole), count);
}

function summariseHoles(holes) {
  return {
    spans: holes.length,
    tokens: holes.reduce((sum, hole) => sum + holeWidth(hole), 0),
    choosing: holes.some((hole) => hole.cells === FREE_LENGTH),
    changed_length: holes.some((hole) => typeof hole.cells === "number"),
  };
}

/** What a run is asked for. */
function describeHoles(holes) {
  return {
    holes: holes.map(({ start, end, cells }) => [start, end, cells]),
    pins: holes.flatMap(({ pin }, index) => (pin && pin.word.trim() ? [[index, pin.where, pin.word.trim()]] : [])),
  };
}
