"use strict";

const LONGEST_NAMED = 18; // letters of the word that a button names

/** Under the text: what is selected, in words, and what can be done with it. */
function createBar(context) {
  const { labels, selection } = context;
  const element = make("div", "dlm-bar");
  const tools = make("div", "dlm-tools", element);
  const summary = make("p", "dlm-summary", tools);
  summary.setAttribute("role", "status");
  const insert = makeTool(tools, "insert", "", "", () => selection.insertAtFocus());
  const clear = makeTool(tools, "clear", labels.edit_clear, labels.edit_clear_hint, () => {
    selection.clear();
    context.focusCell(selection.focus || 0);
  });
  const middle = makeTool(tools, "middle", labels.edit_middle, labels.edit_middle_hint, () => selection.select([presets.middle]));
  const blanks = makeTool(tools, "blanks", labels.edit_blanks, labels.edit_blanks_hint, () => selection.select(presets.blanks));
  makeCopyTool(context, tools, labels.copy, () => documentText(context.document()));
  const list = make("div", "dlm-chips", element);
  list.setAttribute("role", "group");
  list.setAttribute("aria-label", labels.edit_holes);
  const chips = [];
  let presets = { pieces: null };

  // Looking for sentences takes longer than a pointer's move may.
  function findPresets(pieces) {
    if (presets.pieces !== pieces) presets = { pieces, middle: middleSpan(pieces), blanks: blankSpans(pieces) };
    return presets;
  }

  function draw() {
    const { pieces } = context.document();
    setText(summary, selectionWords(selection.holes, labels));
    summary.classList.toggle("dlm-quiet", !selection.holes.length);
    if (pieces.length) {
      const word = shortWords(pieces, ...wordBefore(pieces, selection.insertionPlace()), labels, LONGEST_NAMED);
      setText(insert.firstElementChild, fillLabel(labels.edit_insert, { word }));
      nameButton(insert, fillLabel(labels.edit_insert_hint, { word }));
    }
    setHidden(clear, !selection.holes.length);
    findPresets(pieces);
    setHidden(middle, presets.middle === null);
    setHidden(blanks, !presets.blanks.length);
    while (chips.length < selection.holes.length) {
      chips.push(createChip(context, chips.length));
      list.append(chips[chips.length - 1].element);
    }
    while (chips.length > selection.holes.length) chips.pop().element.remove();
    chips.forEach((chip) => chip.draw());
    setHidden(list, !chips.length);
  }

  function focusChip(index) {
    if (chips[index]) chips[index].focus();
    else context.focusCell(selection.focus || 0);
  }
  return { element, draw, focusChip, showChip: (index) => chips[index] && chips[index].show() };
}

/** The word that ends before a place between two cells. */
function wordBefore(pieces, place) {
  const [start, end] = atomAt(pieces, Math.max(0, Math.min(place, pieces.length) - 1));
  return [Math.min(start, wordSpan(pieces, start)[0]), end];
}

function makeTool(parent, name, text, hint, action) {
  const node = makeButton("dlm-tool dlm-" + name, parent, hint, action);
  make("span", "", node, text);
  return node;
}

/** Copies a text, and says so; where copying is blocked, it shows the text to copy by hand. */
function makeCopyTool(context, parent, hint, read) {
  const { labels } = context;
  const node = makeTool(parent, "copy-text", labels.copy, hint, async () => {
    const copied = await writeClipboard(read());
    fallback.show(copied ? null : read());
    if (!copied) return;
    setText(node.firstElementChild, labels.copied);
    setTimeout(() => setText(node.firstElementChild, labels.copy), 1600);
  });
  const fallback = makeCopyFallback(context, parent);
}

function selectionWords(holes, labels) {
  const { tokens } = summariseHoles(holes);
  const insertions = holes.filter(isInsertion).length;
  const spans = holes.length - insertions;
  const count = (name, n) => (n === 1 ? labels[name + "_one"] : fillLabel(labels[name], { n }));
  const parts = [];
  if (spans > 1) parts.push(fillLabel(labels.edit_spans, { n: spans }));
  if (spans) parts.push(count("edit_tokens", tokens));
  if (insertions) parts.push(count("edit_insertions", insertions));
  return parts.join(", ") || labels.edit_none;
}
