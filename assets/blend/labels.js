"use strict";

// Every string of the blend that a visitor can read.
const BLEND_LABELS = {
  recorded: "A recorded path. Move the slider; press Blend to mix your own texts.",
  slider: "Place on the way from A to B",
  at: "{percent}% of the way from A to B",
  end_a: "Text A",
  end_b: "Text B",
  is_a: "this is A, token for token",
  is_b: "this is B, token for token",
  not_a: "another text on what A is about, not A itself",
  not_b: "another text on what B is about, not B itself",
  table: "The path",
  way: "way",
  text: "text",
  to_a: "like A",
  to_b: "like B",
  edits_a: "words changed from A",
  edits_b: "words changed to B",
  perplexity: "perplexity",
  same: "as above",
  about: "like A, like B: cosine of the texts' embeddings ({name}), 1 the same. Perplexity: how surprising the small left-to-right model finds the text; lower reads more easily.",
};
