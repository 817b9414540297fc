"use strict";

// Plain functions that turn a comparison into the text of a file.

/** A line for each text. Texts are quoted, so that commas, quotes and line breaks stay inside their field. */
function comparisonCsv(rows) {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const field = (value) => {
    if (value === null || value === undefined) return "";
    return typeof value === "string" ? quoteCsv(value) : String(value);
  };
  const lines = rows.map((row) => columns.map((name) => field(row[name])).join(","));
  return [columns.join(","), ...lines].join("\r\n") + "\r\n";
}

/** Press the camera of each Plotly figure on the page that is part of this comparison; whether there was one. */
function saveFigures(selector) {
  document.addEventListener("click", nameFigure, true);
  const cameras = document.querySelectorAll(selector + ' .modebar-btn[data-attr="toImage"], ' + selector + ' .modebar-btn[data-title*="png" i]');
  const shown = [...cameras].filter((camera) => camera.getClientRects().length);
  shown.forEach((camera) => camera.click());
  return shown.length > 0;
}

/** Plotly calls every file newplot, and presses its link itself once the picture is there. */
function nameFigure({ target }) {
  if (target instanceof HTMLAnchorElement && target.download.startsWith("newplot")) target.download = "comparison.png";
}
