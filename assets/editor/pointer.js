"use strict";

const SWIPE = 10;
const LONG_PRESS = 350;

/** Drag to select, click to toggle a token, double-click for its word, triple-click for its sentence, Alt-click to insert.
    A finger that sets out sideways selects; one that sets out up or down scrolls, unless it has rested for a moment. */
function listenToPointer(context, view) {
  const { selection } = context;
  const { line } = view;
  const pieces = () => context.document().pieces;
  let press = null;
  let dragged = false;
  let wasSelected = false;

  line.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.altKey || event.shiftKey || !event.isPrimary) return;
    dragged = false;
    const cell = view.cellAt(event.clientX, event.clientY);
    if (cell === null) return;
    press = { cell, base: selection.holes, active: false, touch: event.pointerType !== "mouse", x: event.clientX, y: event.clientY };
    if (press.touch) press.timer = setTimeout(() => begin(event.pointerId), LONG_PRESS);
  });

  line.addEventListener("pointermove", (event) => {
    if (!press) return;
    if (!event.buttons) return finish(event); // let go outside of the text
    const cell = view.cellAt(event.clientX, event.clientY);
    if (!press.active && !setsOut(event, cell)) return;
    if (!press.active) begin(event.pointerId);
    reach(cell);
  });

  function setsOut(event, cell) {
    const [across, down] = [Math.abs(event.clientX - press.x), Math.abs(event.clientY - press.y)];
    if (!press.touch) return atomAt(pieces(), cell)[0] !== atomAt(pieces(), press.cell)[0];
    if (Math.max(across, down) > SWIPE) clearTimeout(press.timer);
    return across > SWIPE && across > down;
  }

  function begin(pointerId) {
    clearTimeout(press.timer);
    press.active = dragged = true;
    line.setPointerCapture(pointerId);
    line.classList.add("dlm-selecting");
    reach(press.cell);
  }

  function reach(cell) {
    selection.focus = cell;
    selection.add(spanBetween(pieces(), press.cell, cell), press.base);
  }

  function finish(event) {
    if (!press) return;
    clearTimeout(press.timer);
    if (event.type === "pointercancel" && press.active) selection.set(press.base);
    press = null;
    line.classList.remove("dlm-selecting");
  }
  line.addEventListener("pointerup", finish);
  line.addEventListener("pointercancel", finish);
  line.addEventListener("touchmove", (event) => press && press.active && event.preventDefault(), { passive: false });
  line.addEventListener("contextmenu", (event) => press && press.touch && event.preventDefault());

  line.addEventListener("click", (event) => {
    if (dragged) return (dragged = false);
    if (event.altKey) return selection.insertAt(placeAt(event));
    const slot = event.target.closest(".dlm-slot");
    if (slot) return selection.insertAt(Number(slot.dataset.place));
    const target = event.target.closest(".dlm-cell");
    if (target) choose(Number(target.dataset.position), event);
  });

  function choose(cell, event) {
    const from = selection.focus === null ? cell : selection.focus;
    selection.focus = cell;
    if (event.shiftKey) return selection.extendTo(cell, from);
    selection.endExtension();
    if (event.detail <= 1) {
      wasSelected = Boolean(holeOver(selection.holes, cell));
      return selection.toggle(cell);
    }
    const span = event.detail === 2 ? wordSpan(pieces(), cell) : sentenceSpan(pieces(), cell);
    return wasSelected ? selection.remove(span) : selection.add(span);
  }

  /** The place between two characters that is nearest to a click. */
  function placeAt(event) {
    const cell = view.cellAt(event.clientX, event.clientY);
    const boxes = [...view.cell(cell).getClientRects()];
    const box = boxes.find(({ top, bottom }) => top <= event.clientY && event.clientY <= bottom) || boxes[0];
    const atom = atomAt(pieces(), cell);
    return event.clientX < box.left + box.width / 2 ? atom[0] : atom[1];
  }
}
