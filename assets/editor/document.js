"use strict";

/** The text as one listbox: a span per cell, drawn with the player's own cells, so that a run begins where it stands. */
function createDocumentView(context) {
  const { labels, selection } = context;
  const element = make("div", "dlm-text dlm-document");
  const empty = make("p", "dlm-empty", element, labels.edit_empty);
  const line = make("p", "dlm-line", element);
  line.setAttribute("role", "listbox");
  line.setAttribute("aria-multiselectable", "true");
  const cells = [];
  let slots = [];
  let slotKey = "";

  function draw() {
    const { pieces } = context.document();
    const fresh = new Set(context.fresh());
    const stop = atomAt(pieces, clamp(selection.focus || 0, 0, Math.max(0, pieces.length - 1)))[0];
    setHidden(empty, pieces.length > 0);
    setHidden(line, !pieces.length);
    line.setAttribute("aria-label", fillLabel(labels.edit_document, { n: pieces.length }));
    while (cells.length < pieces.length) cells.push(makeCell(line, 0, cells.length));
    while (cells.length > pieces.length) cells.pop().node.remove();
    pieces.forEach((piece, position) => {
      const hole = holeOver(selection.holes, position);
      drawCell(cells[position], typeof piece === "string" ? piece : "", documentLook(piece, position, hole, fresh));
      drawOption(cells[position], piece, Boolean(hole), position === stop, labels);
      drawLength(cells[position].node, hole && hole.end === position + 1 ? hole : null, labels);
    });
    drawSlots();
  }

  function drawSlots() {
    const insertions = selection.holes.filter(isInsertion);
    const key = JSON.stringify([cells.length, insertions.map(({ start, cells }) => [start, cells])]);
    if (key === slotKey) return;
    slotKey = key;
    slots.forEach((slot) => slot.remove());
    slots = insertions.map((hole) => {
      const slot = make("span", "dlm-slot");
      slot.setAttribute("aria-hidden", "true"); // its entry in the list of holes is what is read out
      slot.dataset.place = hole.start;
      slot.dataset.label = hole.cells === FREE_LENGTH ? labels.edit_slot_free : fillLabel(labels.edit_slot, { n: hole.cells });
      line.insertBefore(slot, cells[hole.start] ? cells[hole.start].node : null);
      return slot;
    });
  }

  const node = (position) => (cells[position] ? cells[position].node : null);
  return {
    element,
    line,
    draw,
    cell: node,
    cellAt: (x, y) => nearestCell(line, cells, x, y),
    focus(position) {
      const { pieces } = context.document();
      if (!pieces.length) return;
      selection.focus = atomAt(pieces, clamp(position, 0, pieces.length - 1))[0];
      draw();
      node(selection.focus).focus();
    },
  };
}

function documentLook(piece, position, hole, fresh) {
  let look = "dlm-cell dlm-given";
  if (typeof piece === "number") look += " " + (SPECIAL_CLASSES[piece] || "dlm-bytes");
  else if (/^[\r\n]+$/.test(piece)) look += " dlm-newline";
  if (fresh.has(position)) look += " dlm-fresh";
  if (!hole) return look;
  if (position === hole.start) look += " dlm-hole-start";
  if (position === hole.end - 1) look += " dlm-hole-end";
  return look + " dlm-hole";
}

/** One option a character or more; a cell that continues a character belongs to the option before it. */
function drawOption(cell, piece, selected, isStop, labels) {
  const joined = piece === "" && cell.node.previousElementSibling !== null;
  const wanted = joined
    ? { role: "none", "aria-hidden": "true", "aria-selected": null, "aria-label": null }
    : { role: "option", "aria-hidden": null, "aria-selected": String(selected), "aria-label": spokenPiece(piece, labels) };
  for (const [name, value] of Object.entries(wanted)) {
    if (cell.node.getAttribute(name) === value) continue;
    if (value === null) cell.node.removeAttribute(name);
    else cell.node.setAttribute(name, value);
  }
  const tabIndex = isStop && !joined ? 0 : -1;
  if (cell.node.tabIndex !== tabIndex) cell.node.tabIndex = tabIndex;
}

/** A name for what has no letters to read out. */
function spokenPiece(piece, labels) {
  return typeof piece === "string" && piece.trim() ? null : readablePiece(piece, labels);
}

/** The new length of a hole stands at its end, drawn by the style sheet. */
function drawLength(node, hole, labels) {
  const text = !hole || hole.cells === null ? "" : hole.cells === FREE_LENGTH ? "?" : "→ " + hole.cells;
  if ((node.dataset.length || "") === text) return;
  if (text) node.dataset.length = text;
  else delete node.dataset.length;
}

/** The cell under a point, or else the nearest one, lines before columns. */
function nearestCell(line, cells, x, y) {
  const hit = document.elementFromPoint(x, y);
  const under = hit && hit.closest(".dlm-cell");
  if (under && line.contains(under)) return Number(under.dataset.position);
  let best = null;
  let distance = Infinity;
  cells.forEach(({ node }, position) => {
    for (const box of node.getClientRects()) {
      const down = Math.max(box.top - y, 0, y - box.bottom);
      const across = Math.max(box.left - x, 0, x - box.right);
      if (down * 1000 + across >= distance) continue;
      distance = down * 1000 + across;
      best = position;
    }
  });
  return best;
}
