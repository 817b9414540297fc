"use strict";

/** The text by keyboard: arrows move, Shift and an arrow select, Space and Enter toggle, Insert makes room for new words. */
function listenToDocumentKeys(context, view) {
  const { selection } = context;
  const pieces = () => context.document().pieces;

  const actions = {
    " ": (cell) => selection.toggle(cell),
    Enter: (cell) => selection.toggle(cell),
    Escape: () => selection.clear(),
    Delete: (cell) => unselect(cell),
    Backspace: (cell) => unselect(cell),
    Insert: (cell, event) => selection.insertAtFocus(event.shiftKey),
  };

  function unselect(cell) {
    const hole = holeOver(selection.holes, cell);
    if (hole) selection.drop(hole);
  }

  view.line.addEventListener("focusin", (event) => {
    const cell = event.target.closest(".dlm-cell");
    if (!cell || selection.focus === Number(cell.dataset.position)) return;
    selection.focus = Number(cell.dataset.position);
    context.redraw();
  });

  view.line.addEventListener("keydown", (event) => {
    const target = event.target.closest(".dlm-cell");
    if (!target || event.altKey) return;
    const cell = Number(target.dataset.position);
    const command = event.ctrlKey || event.metaKey;
    if (command && event.key.toLowerCase() === "a") selection.all();
    else if (command) return;
    else if (actions[event.key]) {
      selection.endExtension();
      actions[event.key](cell, event);
    } else {
      const next = nextOption(context, pieces(), cell, event.key);
      if (next === null) return;
      move(cell, next, event.shiftKey);
    }
    event.preventDefault();
  });

  view.line.addEventListener("copy", (event) => {
    event.clipboardData.setData("text/plain", documentText(context.document()));
    event.preventDefault();
  });

  function move(cell, next, extending) {
    if (extending) selection.extendTo(next, cell);
    else selection.endExtension();
    view.focus(next);
  }
}

/** The cell an arrow key leads to; null for any other key. */
function nextOption(context, pieces, cell, key) {
  const [start, end] = atomAt(pieces, cell);
  const moves = { ArrowLeft: start - 1, ArrowRight: end, Home: 0, End: pieces.length - 1 };
  if (key in moves) return atomAt(pieces, clamp(moves[key], 0, pieces.length - 1))[0];
  if (key === "ArrowUp") return cellOnLine(context, 0, cell, -1);
  if (key === "ArrowDown") return cellOnLine(context, 0, cell, 1);
  return null;
}

/** A run from anywhere in the editor; undo and redo too, but not from its text fields, which have their own. */
function listenToEditorKeys(context) {
  context.root.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
    if (event.key === "Enter" && context.options.onRun) {
      event.preventDefault();
      return context.options.onRun();
    }
    if (event.target.closest("input:not([type=range]), textarea, select")) return;
    const key = event.key.toLowerCase();
    const isRedo = key === "y" || (key === "z" && event.shiftKey);
    if (key !== "z" && !isRedo) return;
    event.preventDefault();
    if (isRedo) context.redo();
    else context.undo();
  });
}

/** The keys, to look up. */
function createKeyList({ labels }) {
  const element = make("details", "dlm-keys");
  make("summary", "dlm-button dlm-tool", element, labels.edit_keys);
  const list = make("dl", "dlm-key-list", element);
  for (const [key, action] of labels.edit_keys_list) {
    make("dt", "", list, key);
    make("dd", "", list, action);
  }
  return element;
}
