"use strict";

/** The alternatives of a run that is over: what each one changes, and the buttons to take it or leave it. */
function createCards(context, actions) {
  const { labels } = context;
  const element = make("section", "dlm-alternatives");
  element.setAttribute("aria-label", labels.edit_alternatives);
  const head = make("div", "dlm-alternatives-head", element);
  const title = make("p", "dlm-alternatives-title", head);
  title.setAttribute("role", "status");
  makeTool(head, "discard", labels.edit_discard, labels.edit_discard_hint, () => actions.discard());
  const outside = make("p", "dlm-outside", element);
  const list = make("ol", "dlm-cards", element);
  let offered = [];

  function draw(trace, before) {
    const { end } = trace;
    const rows = end.status === "error" ? [] : trace.frames[trace.frames.length - 1].rows;
    setText(title, rows.length === 1 ? labels.edit_ready_one : rows.length ? fillLabel(labels.edit_ready, { n: rows.length }) : "");
    setText(outside, outsideWords(end, rows, labels));
    setHidden(outside, !outside.textContent);
    offered = rows.map((row) => isOffer(rowDocument(row).document, before));
    list.replaceChildren(...rows.map((row, index) => drawCard(trace, row, index, before)));
  }

  function drawCard(trace, row, index, before) {
    const after = rowDocument(row).document;
    const isOpen = after.pieces.includes(MASK);
    const n = index + 1;
    const card = make("li", "dlm-alternative");
    const head = make("div", "dlm-offer", card);
    drawFacts(make("p", "dlm-facts", head), trace, index, labels);
    if (offered[index] && isBest(trace.end, index)) make("strong", "dlm-best", head, labels.edit_best).title = labels.edit_fit_hint;
    if (offered[index]) makeTool(head, "accept", labels.edit_accept, fillLabel(labels.edit_accept_hint, { n }), () => actions.accept(index));
    makeCopyTool(context, head, fillLabel(labels.edit_copy_hint, { n }), () => documentText(after));
    const diff = make("p", "dlm-difference", card);
    const parts = wordDiff(documentText(before), documentText(after));
    if (parts.some(isChange)) drawDiff(diff, parts, labels);
    else setText(diff, labels.edit_no_change);
    if (isOpen) make("p", "dlm-why", card, labels.edit_open_cells);
    if (isJoined(trace.end, index)) make("p", "dlm-why", card, labels.edit_joined);
    return card;
  }

  return { element, draw, count: () => offered.length, offers: () => offered.filter(Boolean).length, isOffered: (index) => Boolean(offered[index]) };
}

/** Whether a row can be accepted: it is whole, and another text than before. */
function isOffer(after, before) {
  return !after.pieces.includes(MASK) && !sameIds(after.ids, before.ids);
}

function drawFacts(parent, { head, end }, index, labels) {
  const facts = [fillLabel(labels.edit_alternative, { n: index + 1 })];
  const seed = rowSeed(head, index);
  if (seed !== null) facts.push(fillLabel(labels.seed, { seed }));
  const score = rowScore(end, index);
  setText(parent, facts.join(" · ") + (score ? " · " : ""));
  if (!score) return;
  const fit = make("span", "dlm-fit", parent, fillLabel(labels.edit_fit, { nats: shownNats(score) }));
  fit.title = labels.edit_fit_hint;
  fit.setAttribute("aria-description", labels.edit_fit_hint);
}

const shownNats = ({ nats }) => nats.toFixed(2).replace("-", "−");

function rowSeed(head, index) {
  const row = head && head.rows && head.rows[index];
  return row && Number.isFinite(row.seed) ? row.seed : null;
}

/** How well the row fits what is around it: nats a token. */
function rowScore(end, index) {
  const score = Array.isArray(end.scores) ? end.scores[index] : null;
  return score && Number.isFinite(score.nats) && score.tokens > 0 ? score : null;
}

/** Better than every other, as far as one can see. */
function isBest(end, index) {
  const score = rowScore(end, index);
  if (!score || !score.best || end.scores.length < 2) return false;
  return end.scores.every((_, other) => other === index || !rowScore(end, other) || shownNats(rowScore(end, other)) !== shownNats(score));
}

const isJoined = (end, index) => Array.isArray(end.scores) && Boolean(end.scores[index]) && end.scores[index].joined === true;

/** What the run found outside the holes, and how many tokens that are in each of its rows. */
function outsideWords(end, rows, labels) {
  if (end.unchanged === false) return labels.edit_changed_outside;
  if (end.unchanged !== true || !rows.length) return "";
  const n = Math.min(...rows.map(rowDocument).map(({ document, fresh }) => document.ids.length - fresh.length));
  return n === 1 ? labels.edit_unchanged_one : fillLabel(labels.edit_unchanged, { n });
}
