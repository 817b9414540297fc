"use strict";

// Every string of the comparison that a visitor can read.
const COMPARE_LABELS = {
  recorded: "This comparison was recorded, without its steps. Press Compare for a live one.",
  table: "Texts of every cell, a column for each seed",
  hint: "Click a text to see how it came about, step by step.",
  seed: "seed {seed}",
  perplexity: "perplexity",
  entropy: "entropy",
  pending: "…",
  empty: "(no text)",
  same: "as above: this knob changes nothing here",
  working: "Cell {k} of {n}, step {s} of {steps} · about {left} s left",
  begun: "{n} cells, about {seconds} s",
  finished: "{n} cells in {seconds} s of computing",
  stopped: "Stopped. {k} of {n} cells are done and kept.",
  failed: "The comparison could not go on: {message}",
  cell_failed: "failed: {message}",
  opened: "{place}, {seed}",
  text_of: "Show the steps of: {place}, {seed}",
  watch: "Run it in Watch ↗",
  no_trace: "The steps of this text were not recorded.",
  csv: "Table (CSV)",
  json: "Table (JSON)",
  traces: "All traces (JSON)",
  png: "Figures (PNG)",
  no_figure: "The figure is not there yet.",
};
