"use strict";

const INSERTED = 3; // tokens of a new insertion

/** What is selected: the holes, the cell with the keyboard's focus, and the moves that change them. */
function createSelection(context) {
  const selection = { holes: [], focus: null };
  let extension = null; // while Shift is held: where it began, and the holes there were
  const pieces = () => context.document().pieces;

  selection.set = (holes) => {
    const length = lengthAfter(pieces().length, holes);
    const { maxCells } = context.options;
    if (length > maxCells && length > lengthAfter(pieces().length, selection.holes)) {
      context.say(fillLabel(context.labels.edit_too_long, { max: maxCells, n: length }));
      return false;
    }
    selection.holes = holes;
    extension = null;
    context.say("");
    context.redraw();
    context.options.onChange?.(summariseHoles(holes));
    return true;
  };

  selection.add = ([start, end], base = selection.holes) => selection.set(addHole(base, makeHole(start, end)));
  selection.remove = ([start, end]) => selection.set(removeSpan(selection.holes, start, end));
  selection.clear = () => selection.set([]);
  selection.drop = (hole) => selection.set(selection.holes.filter((other) => other !== hole));
  selection.change = (hole, changed) => selection.set(replaceHole(selection.holes, hole, changed));

  selection.toggle = (cell) => {
    const atom = atomAt(pieces(), cell);
    if (holeOver(selection.holes, cell)) selection.remove(atom);
    else selection.add(atom);
  };

  selection.all = () => {
    if (pieces().length) selection.set([makeHole(0, pieces().length)]);
  };

  /** Select from where Shift went down to this cell; going back gives up what was passed. */
  selection.extendTo = (cell, from) => {
    const begun = extension || { anchor: from, base: selection.holes };
    selection.add(spanBetween(pieces(), begun.anchor, cell), begun.base);
    extension = begun;
  };
  selection.endExtension = () => {
    extension = null;
  };

  /** Put new tokens between two cells, or take back those that were to come there. */
  selection.insertAt = (place, base = selection.holes) => {
    const here = base.find((hole) => isInsertion(hole) && hole.start === place);
    if (here) return selection.drop(here);
    if (base.some((hole) => hole.start < place && place < hole.end)) return false;
    return selection.set(addHole(base, makeHole(place, place, INSERTED)));
  };

  /** A single token that is selected only says where: it is kept. Anything longer is a hole and grows. */
  selection.insertAtFocus = (before = false) => {
    const { holes, focus } = selection;
    if (focus === null) return selection.insertAt(pieces().length);
    const atom = atomAt(pieces(), focus);
    const hole = holeOver(holes, focus);
    const [start, end] = hole ? [hole.start, hole.end] : atom;
    const isMark = hole && hole.cells === null && !hole.pin && start === atom[0] && end === atom[1];
    return selection.insertAt(before ? start : end, isMark ? removeSpan(holes, ...atom) : holes);
  };

  /** Spans as a host gives them, [start, end] or [start, end, cells]. */
  selection.select = (spans) => {
    const count = pieces().length;
    const isInside = ([start, end]) => Number.isInteger(start) && Number.isInteger(end) && 0 <= start && start <= end && end <= count;
    const holes = spans.filter(isInside).map(([start, end, cells = null]) => {
      const hole = makeHole(...snapSpan(pieces(), start, end));
      const isLength = Number.isInteger(cells) || cells === FREE_LENGTH;
      return resizeHole(hole, isLength ? cells : isInsertion(hole) ? INSERTED : null);
    });
    return selection.set(holes.reduce(addHole, []));
  };

  selection.reset = () => {
    selection.focus = null;
    selection.clear();
  };
  return selection;
}
