"use strict";

const INSERTED = 3; // tokens of a new insertion

/** What is selected: the holes, the cell with the keyboard's focus, and the moves that change them. */
function createSelection(context) {
  const selection = { holes: [], focus: null, refusal: null }; // {index, sentence}: why a hole cannot be written
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
    selection.refusal = extension = null;
    context.say("");
    context.redraw();
    context.options.onChange?.(summariseHoles(holes));
    return true;
  };

  /** A part of a blank stands for all of it. */
  const wholeBlank = ([start, end]) => {
    const blank = blankAt(pieces(), start);
    return blank && end <= blank[1] ? blank : [start, end];
  };

  selection.add = (span, base = selection.holes) => {
    const [start, end, cells = null] = wholeBlank(span);
    return selection.set(addHole(base, resizeHole(makeHole(start, end), cells)));
  };
  selection.remove = (span) => selection.set(removeSpan(selection.holes, ...wholeBlank(span)));
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

  /** Where new tokens would come: around the hole with the focus, else around its character. */
  selection.insertionPlace = (before = false) => {
    if (selection.focus === null) return pieces().length;
    const hole = holeOver(selection.holes, selection.focus);
    const [start, end] = hole ? [hole.start, hole.end] : atomAt(pieces(), selection.focus);
    return before ? start : end;
  };

  /** A single token that is selected only says where: it is kept. Anything longer is a hole and grows. */
  selection.insertAtFocus = (before = false) => {
    const { holes, focus } = selection;
    const place = selection.insertionPlace(before);
    const hole = focus === null ? null : holeOver(holes, focus);
    const [start, end] = hole ? atomAt(pieces(), focus) : [];
    const isMark = hole && hole.cells === null && !hole.pin && start === hole.start && end === hole.end;
    return selection.insertAt(place, isMark ? removeSpan(holes, start, end) : holes);
  };

  /** Spans as a host gives them: [start, end], [start, end, cells] or [start, end, cells, pin]. */
  selection.select = (spans) => {
    const count = pieces().length;
    const isInside = ([start, end]) => Number.isInteger(start) && Number.isInteger(end) && 0 <= start && start <= end && end <= count;
    const holes = spans.filter(isInside).map(([start, end, cells = null, pin = null]) => {
      const hole = makeHole(...snapSpan(pieces(), start, end), null, isPin(pin) ? pin : null);
      const isLength = Number.isInteger(cells) || cells === FREE_LENGTH;
      return resizeHole(hole, isLength ? cells : isInsertion(hole) ? INSERTED : null);
    });
    return selection.set(holes.reduce(addHole, []));
  };

  /** What is selected, as `select` takes it. */
  selection.spans = () => selection.holes.map(({ start, end, cells, pin }) => [start, end, cells, pin]);

  /** Say at a hole why it cannot be written. */
  selection.refuse = (index, sentence) => {
    selection.refusal = { index, sentence };
    context.redraw();
    context.showChip(index);
  };

  /** Begin with the spans that were kept with a document, if they are spans. */
  selection.reset = (spans) => {
    selection.focus = null;
    selection.holes = [];
    selection.select(Array.isArray(spans) ? spans.filter(Array.isArray) : []);
  };
  return selection;
}
