"use strict";

/** What a run is asked for, or a sentence on why there can be none. */
function editorRequest(context) {
  const { document, labels, options, selection, say } = context;
  const { ids } = document();
  const { holes } = selection;
  const { tokens } = summariseHoles(holes);
  const length = lengthAfter(ids.length, holes);
  const refuse = (sentence) => {
    say(sentence);
    return null;
  };
  if (!ids.length) return refuse(labels.edit_nothing_to_edit);
  if (!holes.length) return refuse(labels.edit_nothing_selected);
  if (tokens === ids.length) return refuse(labels.edit_everything_selected);
  if (length > options.maxCells) return refuse(fillLabel(labels.edit_too_long, { max: options.maxCells, n: length }));
  const { pins, ...wanted } = describeHoles(holes);
  if (pins.length && holes.some((hole) => hole.cells === FREE_LENGTH)) {
    refusePin(context, pins[0]);
    return null;
  }
  return { ids: [...ids], ...wanted, pins };
}

/** A word has a place only where every length is known. */
function refusePin({ document, labels, selection }, [index, , word]) {
  const free = selection.holes.find((hole) => hole.cells === FREE_LENGTH);
  const isHere = selection.holes[index].cells === FREE_LENGTH;
  const words = holeWords(document().pieces, free, labels);
  selection.refuse(index, fillLabel(isHere ? labels.edit_pin_free : labels.edit_pin_free_elsewhere, { word, words }));
}
