"use strict";

const STATE_CLASSES = {
  n: "dlm-noise",
  d: "dlm-draft",
  c: "dlm-done",
  f: "dlm-given",
  p: "dlm-given dlm-pinned",
};
const SPECIAL_CLASSES = ["dlm-pad", "dlm-start", "dlm-end", "dlm-mask", "dlm-bytes"];
const FOG_LEVELS = 5;
const HEAT_LEVELS = 7;

/** The paragraphs of tokens: one per sample, one span per cell, both reused from run to run. */
function createTextView(context) {
  const element = make("div", "dlm-text");
  const rows = [];
  const { single } = context.options;
  let tallest = 0;
  let width = 0;
  let moved = false;

  function draw(frame, previous) {
    matchRows(frame.rows.length);
    frame.rows.forEach((row, index) => {
      const shown = !single || index === context.view.row;
      setHidden(rows[index].element, !shown);
      if (shown) rows[index].draw(row, previous && previous.rows[index], frame);
    });
    const moving = context.playback.isMoving();
    if (moved && !moving && context.isResult(frame)) {
      rows.forEach((row) => row.settleHeight());
      tallest = 0;
    }
    if (single) keepTallest(rows[context.view.row].element);
    moved = moving;
  }

  /** Where one row of several is drawn, what is below it stays in place when another one is. */
  function keepTallest(row) {
    if (element.clientWidth !== width) tallest = 0;
    width = element.clientWidth;
    if (row.offsetHeight <= tallest && tallest) return;
    tallest = row.offsetHeight;
    element.style.minHeight = tallest + "px";
  }

  function matchRows(count) {
    while (rows.length < count) {
      rows.push(createRowView(context, rows.length));
      element.append(rows[rows.length - 1].element);
    }
    while (rows.length > count) rows.pop().destroy();
    element.classList.toggle("dlm-many", count > 1 && !single);
  }

  return {
    element,
    draw,
    cell: (row, position) => (rows[row] ? rows[row].cell(position) : null),
    destroy: () => rows.forEach((row) => row.destroy()),
  };
}

function createRowView(context, rowIndex) {
  const element = make("section", "dlm-row");
  const title = make("button", "dlm-row-title", element);
  title.type = "button";
  title.addEventListener("click", () => context.select(rowIndex, null));
  const line = make("p", "dlm-line", element);
  line.setAttribute("role", "listbox");
  const cells = [];
  const height = keepHeight(line);

  function draw(row, before, frame) {
    matchCells(row.p.length);
    drawTitle(frame.rows.length);
    const end = textLength(row);
    const isResult = context.isResult(frame);
    // What a model puts behind a settled end mark is no part of the text.
    const over = isResult || isGiven(row, end) || row.st[end] === "c" ? end : row.p.length;
    const differs = isResult && context.store.differs(rowIndex);
    const caret = context.store.family() === "autoregressive" ? row.st.search(/[nd]/) : -1;
    row.p.forEach((piece, position) => {
      if (position > over) return drawCell(cells[position], "", "dlm-cell dlm-pad");
      const changed = before && position < before.p.length && !sameToken(before, row, position);
      let look = cellLook(row, position, context.store.maxEntropy(), frame.s);
      if (changed && !isGiven(row, position)) look += " dlm-changed";
      if (differs && differs[position]) look += " dlm-differs";
      if (position === caret) look += " dlm-caret";
      drawCell(cells[position], typeof piece === "string" ? piece : "", look);
    });
    markSelected(row);
  }

  function drawTitle(rowCount) {
    const { labels, store, view, options } = context;
    const seed = store.seed(rowIndex);
    const way = store.way(rowIndex);
    const name = way === null ? fillLabel(labels.sample, { n: rowIndex + 1 }) : fillLabel(labels.way, { percent: way });
    const text = seed === null || way !== null ? name : name + " · " + fillLabel(labels.seed, { seed });
    setText(title, text);
    setHidden(title, rowCount < 2 || options.single);
    title.setAttribute("aria-pressed", String(view.row === rowIndex));
    line.setAttribute("aria-label", text);
  }

  function matchCells(count) {
    while (cells.length < count) cells.push(makeCell(line, rowIndex, cells.length));
    while (cells.length > count) cells.pop().node.remove();
  }

  function markSelected(row) {
    const { view } = context;
    const chosen = view.row === rowIndex ? view.cell : null;
    const stop = chosen === null ? firstFree(row) : chosen;
    cells.forEach((cell, position) => {
      const selected = position === chosen;
      if (cell.selected !== selected) {
        cell.selected = selected;
        cell.node.setAttribute("aria-selected", String(selected));
      }
      const tabIndex = position === stop ? 0 : -1;
      if (cell.node.tabIndex !== tabIndex) cell.node.tabIndex = tabIndex;
    });
  }

  return {
    element,
    draw,
    settleHeight: height.reset,
    cell: (position) => (cells[position] ? cells[position].node : null),
    destroy() {
      height.stop();
      element.remove();
    },
  };
}

function makeCell(line, row, position) {
  const node = make("span", "dlm-cell", line);
  node.setAttribute("role", "option");
  node.tabIndex = -1;
  node.dataset.row = row;
  node.dataset.position = position;
  return { node, text: "", look: "", selected: null };
}

function drawCell(cell, text, look) {
  if (cell.text !== text) {
    cell.text = text;
    cell.node.textContent = text;
    // A direction override ends with its cell; it would turn all that follows.
    cell.node.style.unicodeBidi = /[\u202a-\u202e\u2066-\u2069]/.test(text) ? "isolate" : "";
  }
  if (cell.look !== look) {
    cell.look = look;
    cell.node.className = look;
  }
}

function cellLook(row, position, maxEntropy, step) {
  const piece = row.p[position];
  const state = row.st[position];
  let look = "dlm-cell " + (STATE_CLASSES[state] || "dlm-draft");
  if (typeof piece === "number") look += " " + (SPECIAL_CLASSES[piece] || "dlm-bytes");
  else if (/^[\r\n]+$/.test(piece)) look += " dlm-newline";
  if (isGiven(row, position)) return look;
  if (row.c) look += " dlm-heat" + Math.round((row.c[position] / 100) * HEAT_LEVELS);
  if (state === "c") return look;
  return look + fogLook(uncertainty(row, position, maxEntropy), position, step);
}

// A few classes instead of a blur radius per cell: the browser can then reuse styles.
function fogLook(share, position, step) {
  const level = Math.round(Math.pow(share, 0.7) * FOG_LEVELS);
  return level ? " dlm-fog" + level + " dlm-drift" + ((position * 3 + step) % 4) : "";
}

/** Drafts change length from step to step; a paragraph that only grows does not make the page jump. It keeps its height
    into the next run, and gives up what it does not need when that has arrived at its last step. */
function keepHeight(line) {
  let width = 0;
  let tallest = 0;
  const reset = () => {
    tallest = 0;
    line.style.minHeight = "";
  };
  const observer = new ResizeObserver(() => {
    if (line.clientWidth !== width) {
      width = line.clientWidth;
      reset();
    }
    if (line.offsetHeight <= tallest) return;
    tallest = line.offsetHeight;
    line.style.minHeight = tallest + "px";
  });
  observer.observe(line);
  return { reset, stop: () => observer.disconnect() };
}
