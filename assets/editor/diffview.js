"use strict";

/** Draw a diff with real ins and del elements; what they mean is also said in words. */
function drawDiff(parent, parts, labels) {
  parent.replaceChildren();
  for (const { kind, text } of parts) {
    if (kind === "same") {
      parent.append(text);
      continue;
    }
    make("span", "dlm-spoken", parent, kind === "ins" ? labels.edit_inserted : labels.edit_deleted);
    // A change of nothing but spaces is drawn with their signs.
    make(kind, "dlm-diff", parent, text.trim() ? text : readablePiece(text, labels));
    make("span", "dlm-spoken", parent, labels.edit_diff_end);
  }
}

const isChange = (part) => part.kind !== "same";
