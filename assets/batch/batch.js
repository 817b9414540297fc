"use strict";

const BATCH_FORMAT = "diffusion-lm-playground/batch";

/** Build the view of a batch inside root: a line for each item, and files of what is written so far.
 * Messages are {batch, head: {items, seconds, csv}} first, {batch, working, share, left} and {batch, results} as it goes
 * on, and {batch, end} last; a recorded batch is {format, head, results, end}. Each result brings its own lines of the
 * files, so what is downloaded is what the server wrote. */
function createBatch(root, options) {
  const labels = { ...BATCH_LABELS, ...(options.labels || {}) };
  injectStyle(options.css, "batch");
  const element = make("div", "dlm-player dlm-batch", root);
  const status = make("p", "dlm-about dlm-batch-status", element);
  status.setAttribute("role", "status");
  const bar = make("div", "dlm-batch-bar", element);
  const done = make("div", "", bar);
  const table = createBatchTable(labels);
  element.append(table.element);
  const foot = make("div", "dlm-batch-foot", element);
  make("p", "dlm-about", foot, labels.hint);
  const buttons = [
    [labels.jsonl, () => saveFile("batch.jsonl", "application/jsonl;charset=utf-8", joined("jsonl"))],
    [labels.csv, () => saveFile("batch.csv", "text/csv;charset=utf-8", batch.head.csv + joined("csv"))],
  ].map(([label, save]) => {
    const button = make("button", "dlm-batch-save", foot, label);
    button.type = "button";
    button.addEventListener("click", save);
    return button;
  });
  let batch = fresh(null);

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

  function begin(head) {
    batch.head = head;
    table.begin(head.items);
    said(labels.begun, { seconds: Math.ceil(head.seconds) });
    progress(0);
  }

  function go({ working, share, left }) {
    table.work(working);
    progress(share);
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
    progress(1);
    said(end.status === "finished" ? labels.finished : labels.stopped, { seconds: end.seconds ? end.seconds.toFixed(1) : "" });
  }

  function progress(share) {
    done.style.inlineSize = 100 * clamp(share, 0, 1) + "%";
    bar.hidden = Boolean(batch.end);
  }

  buttons.forEach((button) => (button.disabled = true));
  return {
    push(message) {
      const parsed = typeof message === "string" ? JSON.parse(message) : message;
      if (!parsed || !parsed.batch) return;
      if (parsed.batch !== batch.id) batch = fresh(parsed.batch);
      else if (batch.end) return; // the visitor stopped it
      if (parsed.head) begin(parsed.head);
      if (parsed.results) fill(parsed.results);
      if (parsed.working) go(parsed);
      if (parsed.end) finish(parsed.end);
    },
    load(recorded) {
      if (!recorded || recorded.format !== BATCH_FORMAT) return;
      batch = fresh("recorded");
      begin(recorded.head);
      fill(recorded.results);
      finish(recorded.end);
      setText(status, labels.recorded);
    },
    /** The visitor stopped the run, or it failed: what is written is kept. */
    stop() {
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
