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

  function draw(trace, before) {
    const { end } = trace;
    const rows = end.status === "error" ? [] : trace.frames[trace.frames.length - 1].rows;
    setText(title, rows.length === 1 ? labels.edit_ready_one : rows.length ? fillLabel(labels.edit_ready, { n: rows.length }) : "");
    setText(outside, outsideWords(end, labels));
    setHidden(outside, !outside.textContent);
    list.replaceChildren(...rows.map((row, index) => drawCard(trace, row, index, before)));
  }

  function drawCard(trace, row, index, before) {
    const after = rowDocument(row).document;
    const isOpen = after.pieces.includes(MASK);
    const n = index + 1;
    const card = make("li", "dlm-alternative");
    const facts = make("p", "dlm-facts", card, cardFacts(trace, index, labels).join(" · "));
    if (isBest(trace.end, index)) make("strong", "dlm-best", facts, labels.edit_best);
    const diff = make("p", "dlm-difference", card);
    const parts = wordDiff(documentText(before), documentText(after));
    if (parts.some(isChange)) drawDiff(diff, parts, labels);
    else setText(diff, labels.edit_no_change);
    if (isOpen) make("p", "dlm-why", card, labels.edit_open_cells);
    const buttons = make("p", "dlm-card-buttons", card);
    const accept = makeTool(buttons, "accept", labels.edit_accept, fillLabel(labels.edit_accept_hint, { n }), () => actions.accept(index));
    accept.disabled = isOpen;
    makeCopyTool(context, buttons, fillLabel(labels.edit_copy_hint, { n }), () => documentText(after));
    return card;
  }

  return { element, draw };
}

function cardFacts({ head, end }, index, labels) {
  const facts = [fillLabel(labels.edit_alternative, { n: index + 1 })];
  const seed = rowSeed(head, index);
  if (seed !== null) facts.push(fillLabel(labels.seed, { seed }));
  const score = rowScore(end, index);
  if (score) facts.push(fillLabel(labels.edit_fit, { nats: score.nats.toFixed(2).replace("-", "−") }));
  return facts;
}

function rowSeed(head, index) {
  const row = head && head.rows && head.rows[index];
  return row && Number.isFinite(row.seed) ? row.seed : null;
}

/** How well the row fits what is around it: nats a token. */
function rowScore(end, index) {
  const score = Array.isArray(end.scores) ? end.scores[index] : null;
  return score && Number.isFinite(score.nats) && score.tokens > 0 ? score : null;
}

function isBest(end, index) {
  const score = rowScore(end, index);
  return Boolean(score && score.best) && end.scores.length > 1;
}

function outsideWords(end, labels) {
  if (end.unchanged === true && Number.isInteger(end.checked)) return fillLabel(labels.edit_unchanged, { n: end.checked });
  return end.unchanged === false ? labels.edit_changed_outside : "";
}
