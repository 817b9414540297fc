"use strict";

const TRACE_FORMAT = "diffusion-lm-playground/trace";
const START_OF_TEXT = 1;
const END_OF_TEXT = 2;
const MASK = 3;
const NOT_SETTLED = null;
const SETTLED_BEFORE_FIRST = -1;
const MOST_KEPT = 60000; // cells of all steps: a few megabytes

/** Holds one run: its head, every frame received in step order, its end, and what follows from them. */
function createStore() {
  const store = { run: null, head: null, frames: [], end: null, version: 0, before: null, isKept: false };
  let derived = new Map();

  function touch() {
    store.version++;
    derived = new Map();
  }

  function reset(run) {
    Object.assign(store, { run, head: null, frames: [], end: null, isKept: false });
    touch();
  }

  /** Take one message; returns "new", "frame" or "ignored". */
  store.push = function (message) {
    const parsed = parseMessage(message);
    if (!parsed) return "ignored";
    const isNew = parsed.run !== store.run;
    if (isNew) {
      if (store.end && store.end.status === "finished") store.before = { head: store.head, rows: store.last().rows };
      reset(parsed.run);
    }
    else if (store.end && store.end.status === "stopped") return "ignored";
    if (parsed.head) store.head = parsed.head;
    if (parsed.end) store.end = parsed.end;
    insertFrame(store.frames, parsed.frame);
    touch();
    return isNew ? "new" : "frame";
  };

  store.load = function (trace, isKept) {
    reset("trace");
    store.isKept = isKept;
    store.head = trace.head || null;
    store.end = trace.end || null;
    for (const frame of trace.frames) insertFrame(store.frames, frame);
    touch();
  };

  /** The visitor stopped the run at the frame on screen: it is the result, and later ones are dropped. */
  store.stop = function (index) {
    const isOver = store.end && index >= store.frames.length - 1;
    if (isOver || !store.frames.length || store.run === "trace") return;
    store.frames.splice(index + 1);
    store.end = stoppedAt(store.last());
    touch();
  };

  store.trace = function () {
    return { format: TRACE_FORMAT, version: 1, head: store.head, frames: store.frames, end: store.end };
  };

  /** The visitor's run as `load` takes it, stopped where it stands; only its last step if it is `slim` or would be too
   * much. Null where no run is the visitor's. */
  store.kept = function (slim) {
    const { frames, run } = store;
    const last = store.last();
    if (!last || (run === "trace" && !store.isKept)) return null;
    const cells = frames.length * last.rows.length * last.rows[0].p.length;
    return { ...store.trace(), frames: slim || cells > MOST_KEPT ? [last] : frames, end: store.end || stoppedAt(last) };
  };

  function once(key, compute) {
    if (!derived.has(key)) derived.set(key, compute());
    return derived.get(key);
  }

  store.settled = (row) => once("settled" + row, () => settledSteps(store.frames, row));
  store.changes = (row) => once("changes" + row, () => changeCounts(store.frames, row));
  /** For each cell whether it differs from the run before, if that had other pins and was otherwise the same. */
  store.differs = (row) => once("differs" + row, () => differences(store, row));
  store.last = () => store.frames[store.frames.length - 1] || null;
  // A finished run may have needed fewer steps than planned; a stopped one still had some to go.
  store.total = () => {
    const last = store.last();
    const finished = store.end && store.end.status === "finished";
    return finished ? last.s : Math.max(last.n, last.s);
  };
  store.family = () => (store.head && store.head.model && store.head.model.family) || "";
  store.maxEntropy = () => (store.head && store.head.max_entropy) || 0;
  store.seed = (row) => (store.head && store.head.rows && store.head.rows[row] ? store.head.rows[row].seed : null);
  /** How far a row is on a path between two texts, in percent; null where there is no path. */
  store.way = (row) => {
    const weight = store.head && store.head.rows && store.head.rows[row] && store.head.rows[row].weight;
    return typeof weight === "number" ? Math.round(100 * weight) : null;
  };
  store.piece = (id) => {
    const vocabulary = store.head && store.head.vocabulary;
    return vocabulary && vocabulary[id] !== undefined ? vocabulary[id] : "#" + id;
  };
  return store;
}

function stoppedAt(frame) {
  return { status: "stopped", message: "", texts: frame.rows.map(rowText), seconds: frame.t };
}

function parseMessage(message) {
  let parsed = message;
  if (typeof message === "string") {
    try {
      parsed = JSON.parse(message);
    } catch (error) {
      return null;
    }
  }
  const usable = parsed && parsed.frame && Array.isArray(parsed.frame.rows);
  return usable ? parsed : null;
}

// Frames may repeat or arrive out of order, so the step number decides the place.
function insertFrame(frames, frame) {
  let place = frames.length;
  while (place > 0 && frames[place - 1].s > frame.s) place--;
  if (place > 0 && frames[place - 1].s === frame.s) frames[place - 1] = frame;
  else frames.splice(place, 0, frame);
}

function sameToken(before, after, position) {
  return before.id[position] === after.id[position] && (before.p[position] === MASK) === (after.p[position] === MASK);
}

/** For each cell the first step after which its token never changes. */
function settledSteps(frames, row) {
  if (!frames.length) return [];
  const last = frames[frames.length - 1].rows[row];
  return last.p.map((piece, position) => {
    if (piece === MASK) return NOT_SETTLED;
    let index = frames.length - 1;
    while (index > 0 && sameToken(frames[index - 1].rows[row], last, position)) index--;
    const unseen = index === 0 && frames[0].s > 0;
    return unseen ? SETTLED_BEFORE_FIRST : frames[index].s;
  });
}

function changeCounts(frames, row) {
  if (!frames.length) return [];
  const counts = frames[0].rows[row].p.map(() => 0);
  for (let index = 1; index < frames.length; index++) {
    const before = frames[index - 1].rows[row];
    const after = frames[index].rows[row];
    for (let position = 0; position < counts.length; position++) {
      if (!sameToken(before, after, position)) counts[position]++;
    }
  }
  return counts;
}

function differences({ before, head, last }, rowIndex) {
  if (!before || !head || !isPinChange(before.head, head)) return null;
  const row = last().rows[rowIndex];
  const old = before.rows[rowIndex];
  const end = textLength(row);
  return row.p.map((_, position) => position < end && !isGiven(row, position) && row.id[position] !== old.id[position]);
}

function isPinChange(before, after) {
  const rest = (head) => JSON.stringify({ ...head.recipe, pins: null });
  const pins = (head) => JSON.stringify(head.recipe.pins);
  return rest(before) === rest(after) && pins(before) !== pins(after);
}

function isGiven(row, position) {
  const state = row.st[position];
  return state === "f" || state === "p";
}

/** Number of cells before the text ends: all of them when no end was written. */
function textLength(row) {
  const end = row.p.indexOf(END_OF_TEXT);
  return end < 0 ? row.p.length : end;
}

/** The first cell that is drawn: a given start mark is not. */
function firstVisible(row) {
  return row.p[0] === START_OF_TEXT && isGiven(row, 0) ? 1 : 0;
}

/** The first visible cell that the model fills. */
function firstFree(row) {
  const free = [...row.st].findIndex((_, position) => !isGiven(row, position));
  return Math.max(free, firstVisible(row));
}

function rowText(row) {
  return row.p.slice(0, textLength(row)).filter((piece) => typeof piece === "string").join("");
}

/** Entropy as a share of the highest possible one; confidence stands in when it is missing. */
function uncertainty(row, position, maxEntropy) {
  if (row.h && maxEntropy) return clamp(row.h[position] / 100 / maxEntropy, 0, 1);
  return row.c ? 1 - row.c[position] / 100 : 0;
}

function percentSettled(row) {
  const open = [...row.st].filter((state) => state === "n" || state === "d").length;
  const free = [...row.st].filter((state) => state !== "f" && state !== "p").length;
  return free ? Math.round(100 * (1 - open / free)) : 100;
}
