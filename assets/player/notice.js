"use strict";

const ANNOUNCE_EVERY = 2500;

/** The note of the run, how it ended, and a throttled summary for screen readers. */
function createNotice(context) {
  const { labels, store } = context;
  const element = make("div", "dlm-notice");
  const note = make("p", "dlm-note", element);
  const status = make("p", "dlm-status", element);
  const hint = make("p", "dlm-hint", element, labels.hint);
  const empty = make("p", "dlm-empty", element, labels.empty);
  const spoken = make("div", "dlm-spoken", element);
  spoken.setAttribute("role", "status");
  spoken.setAttribute("aria-live", "polite");
  let spokenAt = 0;
  let spokenEnd = null;

  function draw(frame) {
    setHidden(empty, Boolean(frame));
    setHidden(hint, !frame || context.options.mode !== "full");
    const words = frame ? endWords(context) : "";
    const source = store.isKept ? labels.kept : labels.recorded;
    const recorded = context.options.live && store.run === "trace" ? source : "";
    setText(note, recorded || (frame && (differsWords(context, frame) || (store.head && store.head.note))) || "");
    setText(status, words);
    setHidden(note, !note.textContent);
    setHidden(status, !words);
    status.classList.toggle("dlm-error", Boolean(store.end) && store.end.status === "error");
    if (frame) announce(frame);
  }

  function announce(frame) {
    const ended = store.end !== null && spokenEnd !== store.run;
    const now = Date.now();
    if (!ended && now - spokenAt < ANNOUNCE_EVERY) return;
    spokenAt = now;
    if (ended) spokenEnd = store.run;
    const shown = ended ? store.last() : frame;
    const percent = percentSettled(shown.rows[context.view.row]);
    const summary = fillLabel(labels.announce, { s: shown.s, n: store.total(), percent });
    setText(spoken, ended ? summary + " " + (endWords(context) || labels.status_finished) : summary);
  }

  return { element, draw };
}

/** How many words a new pin has changed, the pinned ones aside. */
function differsWords({ labels, store, view, isResult }, frame) {
  const differs = isResult(frame) && store.differs(view.row);
  if (!differs) return "";
  const count = differs.filter(Boolean).length;
  return count === 1 ? labels.differs_one : fillLabel(labels.differs, { n: count });
}

function endWords({ labels, store }) {
  const { end } = store;
  if (!end || end.status === "finished") return (end && end.message) || "";
  const last = store.last();
  const sentence = fillLabel(labels["status_" + end.status] || "", { s: last.s, n: last.n });
  return [sentence, end.message].filter(Boolean).join(" ");
}
