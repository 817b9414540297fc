"use strict";

const COMPARISON_FORMAT = "diffusion-lm-playground/comparison";

/** Build the view of a grid of runs inside root: their texts side by side, and a player for the one that is opened.
 * Messages are {study, head} first, {study, cell, s, n, texts, left} for a step, {study, cell, rows, trace} for a cell
 * that is done, and {study, end} last; a recorded comparison is {format, head, rows: [rows of each cell], end}. */
function createCompare(root, options) {
  const labels = { ...COMPARE_LABELS, ...(options.labels || {}) };
  injectStyle(options.css, "compare");
  const element = make("div", "dlm-player dlm-compare", root);
  const status = make("p", "dlm-about dlm-compare-status", element);
  status.setAttribute("role", "status");
  const fillBar = makeBar(element);
  const table = createCompareTable(labels, open);
  element.append(table.element);
  const foot = make("div", "dlm-files", element);
  const hint = make("p", "dlm-about", foot, labels.hint);
  const opened = make("section", "dlm-compare-opened", element);
  opened.hidden = true;
  const title = make("h3", "", opened);
  const link = make("a", "dlm-compare-watch", opened, labels.watch);
  link.target = "_blank";
  link.rel = "noopener";
  const plain = make("p", "dlm-compare-plain", opened);
  const stage = make("div", "", opened);
  const player = createPlayer(stage, { ...options, css: null, live: false, autoplay: true, single: true, onPin: null, onUnpin: null, onLive: null });
  const TRACES = 2; // its place among the buttons
  let study = fresh(null);

  function fresh(id) {
    return { id, head: null, cells: [], end: null, hasSteps: true };
  }

  const buttons = makeSaves(foot, [
    [labels.csv, () => saveFile("comparison.csv", "text/csv;charset=utf-8", comparisonCsv(rows()))],
    [labels.json, () => saveFile("comparison.json", "application/json", JSON.stringify({ grid: study.head.grid, rows: rows() }, null, 1))],
    [labels.traces, () => saveFile("comparison-traces.json", "application/json", JSON.stringify(study.cells.map(({ trace }) => trace || null)))],
    [labels.png, () => saveFigures(".dlm-compare-figure") || setText(status, labels.no_figure)],
  ]);

  function rows() {
    return study.cells.flatMap((cell) => cell.rows || []);
  }

  function begin(head) {
    study.head = head;
    study.cells = head.cells.map((cell) => ({ ...cell, rows: null, trace: null }));
    opened.hidden = true;
    table.begin(head.cells, head.seeds);
    setText(status, fillLabel(labels.begun, { n: count(), seconds: readableNumber(head.seconds) }));
    setHidden(hint, !study.hasSteps);
    setHidden(buttons[TRACES], !study.hasSteps);
    progress(0);
  }

  const count = () => study.cells.filter((cell) => cell.same === undefined).length;
  const finished = () => study.cells.filter((cell) => cell.rows && cell.same === undefined).length;

  function step({ cell, s, n, texts, left }) {
    table.draft(cell, texts);
    setText(status, fillLabel(labels.working, { k: finished() + 1, n: count(), s, steps: n, left: Math.ceil(left) }));
    progress(1 - left / study.head.seconds);
  }

  function fill({ cell, rows: measured, trace, message }) {
    study.cells.forEach((other, index) => {
      if (index !== cell && other.same !== cell) return;
      other.trace = trace || null;
      if (!measured) return table.fail(index, message);
      other.rows = measured.map((row) => ({ ...row, ...other.values }));
      table.fill(index, other.rows);
    });
    buttons.forEach((button) => (button.disabled = !rows().length));
  }

  function finish(end) {
    study.end = end;
    progress(1);
    const values = { n: count(), k: finished(), seconds: end.seconds ? end.seconds.toFixed(1) : "", message: end.message };
    setText(status, fillLabel({ finished: labels.finished, stopped: labels.stopped, error: labels.failed }[end.status], values));
  }

  function progress(share) {
    fillBar(share, share >= 1);
  }

  function open(index, column) {
    const cell = study.cells[index];
    const row = cell.rows[column];
    table.mark(index, column);
    opened.hidden = false;
    setText(title, fillLabel(labels.opened, { place: cell.place, seed: fillLabel(labels.seed, { seed: row.seed }) }));
    link.href = "?" + cell.links[column];
    stage.hidden = !cell.trace;
    setText(plain, cell.trace ? "" : row.text + "\n\n" + labels.no_trace);
    plain.hidden = Boolean(cell.trace);
    if (cell.trace) {
      player.show(column);
      player.load(cell.trace);
    }
    opened.scrollIntoView({ block: "nearest", behavior: prefersStill() ? "auto" : "smooth" });
  }

  return {
    push(message) {
      const parsed = typeof message === "string" ? JSON.parse(message) : message;
      if (!parsed || !parsed.study) return;
      if (parsed.study !== study.id) study = fresh(parsed.study);
      else if (study.end) return; // the visitor stopped it
      if (parsed.head) begin(parsed.head);
      if (parsed.texts) step(parsed);
      if (parsed.rows || parsed.message) fill(parsed);
      if (parsed.end) finish(parsed.end);
    },
    load(recorded, { kept = false } = {}) {
      if (!recorded || recorded.format !== COMPARISON_FORMAT) return;
      study = { ...fresh(kept ? "kept" : "recorded"), hasSteps: Boolean(recorded.traces) };
      begin(recorded.head);
      recorded.rows.forEach((measured, cell) => measured && fill({ cell, rows: measured, trace: recorded.traces && recorded.traces[cell] }));
      finish(recorded.end);
      setText(status, labels[study.id]);
    },
    /** The visitor's comparison as `load` takes it; null where none is. */
    kept(slim) {
      const { id, head, cells, end } = study;
      if (!head || id === "recorded") return null;
      const own = (name) => cells.map((cell) => (cell.same === undefined ? cell[name] : null));
      const steps = slim ? {} : { traces: own("trace") };
      return { format: COMPARISON_FORMAT, head, rows: own("rows"), ...steps, end: end || { status: "stopped" } };
    },
    /** The visitor stopped the run: what is finished is kept. */
    stop() {
      if (study.head && !study.end) finish({ status: "stopped" });
    },
    reveal() {
      const { top } = element.getBoundingClientRect();
      if (top < 0 || top > window.innerHeight / 2) element.scrollIntoView({ block: "start" });
    },
    trace: () => ({ head: null, frames: [], end: study.end }),
    study: () => study,
    player,
    open,
    destroy() {
      player.destroy();
      element.remove();
    },
  };
}
