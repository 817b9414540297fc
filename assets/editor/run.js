"use strict";

/** The live run in place of the text: a player, and below it the alternatives once its last step is on screen. */
function createRun(context) {
  const { options } = context;
  const element = make("div", "dlm-run", context.root); // in the page from the start: the player reads its colours there
  const run = { shown: false, over: false };
  run.isBusy = () => run.shown && !run.over;
  let name = null;
  let dismissed = null;
  let before = EMPTY_DOCUMENT;

  const player = createPlayer(element, {
    labels: { ...options.labels, sample: context.labels.edit_alternative }, live: options.live, theme: options.theme, source: options.source, language: options.language,
    mode: "compact", onLive: options.onLive, onDraw: (isResult) => isResult && arrive(),
  });
  const cards = createCards(context, { accept, discard: () => run.discard() });
  element.append(cards.element);

  function begin(id) {
    name = id;
    before = context.document();
    Object.assign(run, { shown: true, over: false });
    context.say("");
    context.redraw();
  }

  function arrive() {
    if (!run.shown || run.over) return;
    run.over = true;
    cards.draw(player.trace(), before);
    context.redraw();
  }

  /** Put the text back; what is still to come of this run is not shown. */
  run.dismiss = () => {
    if (!run.shown) return;
    player.stop();
    dismissed = name;
    Object.assign(run, { shown: false, over: false });
    context.redraw();
  };

  run.discard = () => {
    run.dismiss();
    const [hole] = context.selection.holes;
    context.focusCell(hole ? hole.start : 0);
  };

  function accept(index) {
    const { head, frames } = player.trace();
    const { document, fresh } = rowDocument(frames[frames.length - 1].rows[index]);
    const count = fresh.length;
    const label = count === 1 ? context.labels.edit_regenerated_one : fillLabel(context.labels.edit_regenerated, { n: count });
    const isNew = context.grow({ document, fresh, label, seed: rowSeed(head, index) });
    if (!isNew) context.say(context.labels.edit_no_change);
    context.focusCell(fresh.length ? fresh[0] : 0);
  }

  run.push = (message) => {
    const parsed = parseMessage(message);
    if (!parsed || parsed.run === dismissed) return;
    if (!run.shown || parsed.run !== name) begin(parsed.run);
    player.push(parsed);
  };
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
