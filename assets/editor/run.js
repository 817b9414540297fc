"use strict";

/** The live run in place of the text: a player, and below it the alternatives once its last step is on screen. */
function createRun(context) {
  const { options } = context;
  const element = make("div", "dlm-run", context.root); // in the page from the start: the player reads its colours there
  const run = { shown: false, over: false };
  run.isBusy = () => run.shown && !run.over;
  run.hasOffers = () => run.over && cards.offers() > 0;
  let name = null;
  let dismissed = null;
  let before = EMPTY_DOCUMENT;
  let version = null;
  let kept = null; // alternatives put away: {version: whose, last: whether that was the last thing done}

  const player = createPlayer(element, {
    labels: { ...options.labels, sample: context.labels.edit_alternative }, live: options.live, theme: options.theme, source: options.source, language: options.language,
    mode: "compact", onLive: options.onLive, onDraw: (isResult) => isResult && arrive(),
  });
  const cards = createCards(context, { accept, discard: () => run.discard() });
  element.append(cards.element);

  function begin(id) {
    name = id;
    kept = null;
    before = context.document();
    version = context.tree.current;
    Object.assign(run, { shown: true, over: false });
    drawRowAccepts();
    context.say("");
    context.redraw();
  }

  function arrive() {
    if (!run.shown || run.over) return;
    const wasInside = document.activeElement === context.root;
    run.over = true;
    cards.draw(player.trace(), before);
    drawRowAccepts();
    context.redraw();
    if (wasInside) focusAccept();
  }

  /** What is on screen can be accepted there. */
  function drawRowAccepts() {
    element.querySelectorAll(".dlm-row-accept").forEach((button) => button.remove());
    element.querySelectorAll(".dlm-row").forEach((row, index) => {
      if (!run.over || !cards.isOffered(index)) return;
      const hint = fillLabel(context.labels.edit_accept_hint, { n: index + 1 });
      const button = makeTool(row, "row-accept", context.labels.edit_accept, hint, () => accept(index));
      const title = row.querySelector(".dlm-row-title");
      if (!title.hidden) title.after(button);
    });
  }

  const focusAccept = () => element.querySelector(".dlm-row-accept, .dlm-discard").focus();

  /** Put the text back; what is still to come of this run is not shown. */
  run.dismiss = (last = false) => {
    if (kept) kept.last = false;
    if (!run.shown) return;
    player.stop();
    dismissed = name;
    if (run.over && cards.count()) kept = { version, last };
    Object.assign(run, { shown: false, over: false });
    drawRowAccepts();
    context.redraw();
  };

  const isHere = () => Boolean(kept) && !run.shown && kept.version === context.tree.current;
  run.canShowAgain = isHere;
  /** Alternatives that were put away, with nothing done since. */
  run.isDiscarded = () => isHere() && kept.last;
  run.again = () => {
    kept = null;
    Object.assign(run, { shown: true, over: true });
    drawRowAccepts();
    context.redraw();
    focusAccept();
  };

  run.discard = () => {
    run.dismiss(true);
    const [hole] = context.selection.holes;
    context.focusCell(hole ? hole.start : 0);
  };

  function accept(index) {
    const { head, frames } = player.trace();
    const { document, fresh } = rowDocument(frames[frames.length - 1].rows[index]);
    const count = fresh.length;
    const label = count === 1 ? context.labels.edit_regenerated_one : fillLabel(context.labels.edit_regenerated, { n: count });
    context.grow({ document, fresh, label, seed: rowSeed(head, index) });
    context.focusCell(fresh.length ? fresh[0] : 0);
  }

  run.push = (message) => {
    const refused = readRefusal(message);
    if (refused) return refuse(refused);
    const parsed = parseMessage(message);
    if (!parsed || parsed.run === dismissed) return;
    if (!run.shown || parsed.run !== name) begin(parsed.run);
    player.push(parsed);
  };
  /** A hole whose word has no room gets some, and says so. */
  function refuse({ hole, cells, sentence }) {
    const { selection } = context;
    if (run.shown) run.discard();
    const refused = selection.holes[hole];
    if (!refused) return context.say(sentence);
    if (selection.change(refused, resizeHole(refused, cells))) selection.refuse(hole, sentence);
  }
  run.load = (trace) => {
    if (!isRunTrace(trace)) return;
    player.load(trace);
    begin("trace");
  };
  run.draw = () => {
    setHidden(element, !run.shown);
    setHidden(cards.element, !run.over);
  };
  return Object.assign(run, { element, player });
}

/** What a message says about a hole that cannot be written: {hole, cells: how long it must be, sentence}; or null. */
function readRefusal(message) {
  const refused = message && message.refused;
  const isRefusal = refused && Number.isInteger(refused.hole) && Number.isInteger(refused.cells) && typeof refused.sentence === "string";
  return isRefusal ? refused : null;
}

/** A row of a run as a document: without its start mark, its end mark and what follows, and its padding. */
function rowDocument(row) {
  const document = { ids: [], pieces: [] };
  const fresh = [];
  const end = textLength(row);
  for (let position = row.p[0] === START_OF_TEXT ? 1 : 0; position < end; position++) {
    if (row.p[position] === 0) continue;
    if (row.st[position] !== "f") fresh.push(document.ids.length);
    document.ids.push(row.id[position]);
    document.pieces.push(row.p[position]);
  }
  return { document, fresh };
}

function isRunTrace(trace) {
  if (!trace || trace.format !== TRACE_FORMAT || !Array.isArray(trace.frames) || !trace.frames.length) return false;
  return trace.frames.every((frame) => frame && Array.isArray(frame.rows) && frame.rows.length > 0);
}
