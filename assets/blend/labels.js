"use strict";

// Every string of the blend that a visitor can read.
const BLEND_LABELS = {
  about_path: "{n} texts on the way from A to B, all denoised together. Move the slider to walk along the path; play the timeline below the text to see how they came out of noise.",
  recorded: "This path was recorded. Write two texts of your own and press Blend.",
  slider: "Place on the way from A to B",
  at: "{percent}% of the way from A to B",
  end_a: "Text A",
  end_b: "Text B",
  is_a: "this is A, token for token",
  is_b: "this is B, token for token",
  not_a: "another text on what A is about, not A itself",
  not_b: "another text on what B is about, not B itself",
  table: "The whole path",
  way: "place",
  text: "text",
  to_a: "like A",
  to_b: "like B",
  edits_a: "words changed from A",
  edits_b: "words changed to B",
  perplexity: "perplexity",
  same: "as above",
  about: "like A, like B: how alike the words are (cosine of {name}), 1 for the same words.",
  about_perplexity: "Perplexity: how surprising the small left-to-right model finds the text; lower reads more easily.",
  unknown: "–",
};
