"use strict";

const BATCH_FORMAT = "diffusion-lm-playground/batch";

/** Build the view of a batch inside root: a line for each item, and files of what is written so far.
 * Messages are {timing} while it is found out how long it will take, {batch, head: {items, seconds, csv}} first, {batch, working, share, left} and {batch, results} as it goes
 * on, and {batch, end} last; a recorded batch is {format, head, results, end}. Each result brings its own lines of the
 * files, so what is downloaded is what the server wrote. */
function createBatch(root, options) {
  const labels = { ...BATCH_LABELS, ...(options.labels || {}) };
  injectStyle(options.css, "batch");
  const element = make("div", "dlm-player dlm-batch", root);
  const status = make("p", "dlm-about dlm-batch-status", element);
  status.setAttribute("role", "status");
  const fillBar = makeBar(element);
  const table = createBatchTable(labels);
  element.append(table.element);
  const foot = make("div", "dlm-files", element);
  make("p", "dlm-about", foot, labels.hint);
  const buttons = makeSaves(foot, [
    [labels.jsonl, () => saveFile("batch.jsonl", "application/jsonl;charset=utf-8", joined("jsonl"))],
    [labels.csv, () => saveFile("batch.csv", "text/csv;charset=utf-8", batch.head.csv + joined("csv"))],
  ]);
  let batch = fresh(null);
  let before = null; // what the status said before it was timed how long a new batch will take

  function fresh(id) {
    return { id, head: null, results: [], end: null };
  }

  const written = () => batch.results.filter((result) => result && !result.error).length;
  const failed = () => batch.results.filter((result) => result && result.error).length;
  const joined = (kind) => batch.results.filter(Boolean).map((result) => result[kind]).join("");

  function said(label, values) {
    const lost = failed() ? fillLabel(labels.failed_too, { n: failed() }) : "";
    setText(status, fillLabel(label, { k: written(), n: batch.head.items.length, failed: lost, ...values }));
  }

  function timing() {
    before = status.textContent;
    setText(status, labels.timing);
  }

  function begin(head) {
    before = null;
    batch.head = head;
    table.begin(head.items);
    said(labels.begun, { seconds: Math.ceil(head.seconds) });
    fillBar(0, false);
  }

  function go({ working, share, left }) {
    table.work(working);
    fillBar(share, false);
    if (left !== null) said(labels.going, { left: Math.ceil(left) });
  }

  function fill(results) {
    for (const result of results) {
      batch.results[result.index] = result;
      table.fill(result);
    }
    buttons.forEach((button) => (button.disabled = !batch.results.length));
  }

  function finish(end) {
    batch.end = end;
    table.end();
    fillBar(1, true);
    said(end.status === "finished" ? labels.finished : labels.stopped, { seconds: end.seconds ? end.seconds.toFixed(1) : "" });
  }

  return {
    push(message) {
      const parsed = typeof message === "string" ? JSON.parse(message) : message;
      if (parsed && parsed.timing) timing();
      if (!parsed || !parsed.batch) return;
      if (parsed.batch !== batch.id) batch = fresh(parsed.batch);
      else if (batch.end) return; // the visitor stopped it
      if (parsed.head) begin(parsed.head);
      if (parsed.results) fill(parsed.results);
      if (parsed.working) go(parsed);
      if (parsed.end) finish(parsed.end);
    },
    load(recorded, { kept = false } = {}) {
      if (!recorded || recorded.format !== BATCH_FORMAT) return;
      batch = fresh(kept ? "kept" : "recorded");
      begin(recorded.head);
      fill(recorded.results);
      finish(recorded.end);
      setText(status, labels[batch.id]);
    },
    /** The visitor's batch as `load` takes it; null where none is. */
    kept() {
      const { id, head, results, end } = batch;
      if (!head || id === "recorded") return null;
      return { format: BATCH_FORMAT, head, results: results.filter(Boolean), end: end || { status: "stopped" } };
    },
    /** The visitor stopped the run, or it failed: what is written is kept. */
    stop() {
      if (before !== null) setText(status, before); // it was refused: what was there before still is
      before = null;
      if (batch.head && !batch.end) finish({ status: "stopped" });
    },
    reveal() {
      const { top } = element.getBoundingClientRect();
      if (top < 0 || top > window.innerHeight / 2) element.scrollIntoView({ block: "start" });
    },
    trace: () => ({ head: null, frames: [], end: batch.end }),
    batch: () => batch,
    destroy() {
      element.remove();
    },
  };
}
