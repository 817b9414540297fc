"use strict";

/** The slider from A to B. Moving it asks nobody: all points are here. */
function createBlendSlider(labels, onMove) {
  const element = make("div", "dlm-slider");
  const end = (name, side) => {
    const node = make("button", "dlm-way-end", element, name);
    node.type = "button";
    node.addEventListener("click", () => move(side()));
    return node;
  };
  const a = end("A", () => 0);
  const input = make("input", "dlm-way-range", element);
  Object.assign(input, { type: "range", min: 0, max: 0, step: 1 });
  input.setAttribute("aria-label", labels.slider);
  const b = end("B", () => Number(input.max));
  nameButton(a, labels.end_a);
  nameButton(b, labels.end_b);
  const said = make("output", "dlm-way-said", element);
  let weights = [0];
  let sentence = "";
  let isSum = false;

  input.addEventListener("input", () => move(Number(input.value)));

  function move(point) {
    input.value = point;
    draw();
    onMove(point);
  }

  function draw() {
    const at = fillLabel(isSum ? labels.at_sum : labels.at, { percent: Math.round(100 * weights[Number(input.value)]) });
    const text = [at, sentence].filter(Boolean).join(" · ");
    setText(said, text);
    input.setAttribute("aria-valuetext", text);
  }

  return {
    element,
    move,
    point: () => Number(input.value),
    /** Whether the path leads to A - B + C instead of B. */
    toSum(sum) {
      isSum = sum;
      setText(b, sum ? "+" : "B");
      nameButton(b, sum ? labels.end_sum : labels.end_b);
    },
    /** A sentence on this point, or "". */
    say(words) {
      sentence = words;
      draw();
    },
    /** The points there are; a slider on other points stays about where it is on the way. */
    points(found) {
      if (found.join() === weights.join()) return;
      const before = weights.length > 1 ? Number(input.value) / (weights.length - 1) : 0.5;
      weights = found;
      input.max = weights.length - 1;
      move(Math.round(before * (weights.length - 1)));
    },
  };
}
