"use strict";

/** One hole in the list under the text: its words, its length, the word it must contain. */
function createChip(context, index) {
  const { labels, selection } = context;
  const element = make("div", "dlm-chip");
  element.setAttribute("role", "group");
  const hole = () => selection.holes[index];
  const words = makeButton("dlm-chip-words", element, "", () => context.focusCell(hole().start));
  const length = makeLengthControl(context, element, hole);
  const pin = makePinControl(context, element, hole);
  const remove = makeButton("dlm-chip-remove", element, labels.edit_remove, () => {
    selection.drop(hole());
    context.focusChip(Math.min(index, selection.holes.length - 1));
  });
  makeIcon("close", remove);
  const why = make("p", "dlm-chip-why", element);
  why.setAttribute("role", "alert");

  function draw() {
    const text = holeWords(context.document().pieces, hole(), labels);
    const { refusal } = selection;
    setText(words, text);
    nameButton(words, fillLabel(labels.edit_hole_go, { words: text }));
    element.setAttribute("aria-label", fillLabel(labels.edit_hole, { n: index + 1, words: text }));
    length.draw();
    pin.draw({ n: index + 1, words: text });
    setText(why, refusal && refusal.index === index ? refusal.sentence : "");
    setHidden(why, !why.textContent);
  }
  const show = () => element.scrollIntoView({ block: "nearest" });
  return { element, draw, show, focus: () => remove.focus() };
}

function holeWords(pieces, hole, labels) {
  const blank = isBlank(pieces, hole.start, hole.end);
  if (!isInsertion(hole) && !(blank && hole.start)) return shortWords(pieces, hole.start, hole.end, labels);
  const neighbour = hole.start > 0 ? atomAt(pieces, hole.start - 1) : atomAt(pieces, 0);
  const word = shortWords(pieces, ...neighbour, labels);
  if (blank) return fillLabel(labels.edit_blank, { word });
  return fillLabel(hole.start > 0 ? labels.edit_after : labels.edit_before, { word });
}

/** Shorter and longer by tokens, as long as now, or as the model chooses. */
function makeLengthControl(context, parent, hole) {
  const { labels, selection } = context;
  const element = make("span", "dlm-chip-length", parent);
  const hasWords = () => !isInsertion(hole()) && !isBlank(context.document().pieces, hole().start, hole().end);
  const ownLength = () => (hasWords() ? null : isInsertion(hole()) ? INSERTED : BLANK_LENGTH);
  const resize = (cells) => selection.change(hole(), resizeHole(hole(), cells));
  const shorter = makeButton("dlm-shorter", element, labels.edit_shorter, () => resize(holeLength(hole()) - 1));
  makeIcon("minus", shorter);
  const count = make("span", "dlm-chip-count", element);
  const longer = makeButton("dlm-longer", element, labels.edit_longer, () => resize(holeLength(hole()) + 1));
  makeIcon("plus", longer);
  const same = makeButton("dlm-same", element, labels.edit_same_hint, () => resize(null));
  setText(same, labels.edit_same);
  const free = makeButton("dlm-free", element, labels.edit_free_hint, () =>
    resize(hole().cells === FREE_LENGTH ? ownLength() : FREE_LENGTH));
  setText(free, labels.edit_free);

  function draw() {
    const isFree = hole().cells === FREE_LENGTH;
    setText(count, lengthWords(hole(), hasWords(), labels));
    shorter.disabled = isFree || holeLength(hole()) <= 1;
    longer.disabled = isFree || lengthAfter(context.document().ids.length, selection.holes) >= context.options.maxCells;
    same.classList.toggle("dlm-unused", !hasWords());
    same.setAttribute("aria-pressed", String(hole().cells === null));
    free.setAttribute("aria-pressed", String(isFree));
  }
  return { draw };
}

function lengthWords(hole, hasWords, labels) {
  if (hole.cells === FREE_LENGTH) return labels.edit_length_free;
  const n = holeLength(hole);
  if (hole.cells !== null && hasWords) {
    return fillLabel(labels.edit_length_changed, { before: holeWidth(hole), n });
  }
  return n === 1 ? labels.edit_length_one : fillLabel(labels.edit_length, { n });
}

function makePinControl(context, parent, hole) {
  const { labels, selection } = context;
  const element = make("span", "dlm-chip-pin", parent);
  const input = make("input", "dlm-pin-word", element);
  input.type = "text";
  input.placeholder = labels.edit_pin;
  input.title = labels.edit_pin_hint;
  input.autocomplete = "off";
  input.spellcheck = false;
  const select = make("select", "dlm-pin-where", element);
  for (const where of PIN_PLACES) make("option", "", select, labels["edit_where_" + where]).value = where;
  select.value = "middle";

  const change = () => {
    const pin = input.value.trim() ? { where: select.value, word: input.value } : null;
    selection.change(hole(), { ...hole(), pin });
  };
  input.addEventListener("input", change);
  select.addEventListener("change", change);

  function draw(place) {
    const { pin } = hole();
    input.setAttribute("aria-label", fillLabel(labels.edit_pin_name, place));
    select.setAttribute("aria-label", fillLabel(labels.edit_where, place));
    if (input.value.trim() !== (pin ? pin.word.trim() : "")) input.value = pin ? pin.word : "";
    if (pin && select.value !== pin.where) select.value = pin.where;
    setHidden(select, !pin);
  }
  return { draw };
}
