"use strict";

/** One line of numbers, all of them measured in this run. */
function createMeter(context) {
  const element = make("div", "dlm-meter");
  return {
    element,
    draw(frame) {
      setText(element, meterParts(context, frame).join(" · "));
    },
  };
}

function meterParts(context, frame) {
  const { labels, store } = context;
  const parts = [fillLabel(labels.step_of, { s: frame.s, n: store.total() })];
  const evaluations = frame.e === undefined ? frame.s : frame.e;
  parts.push(evaluations === 1 ? labels.evaluations_one : fillLabel(labels.evaluations, { n: evaluations }));
  const seconds = runSeconds(store);
  const last = store.last();
  if (store.end && store.end.status === "finished" && seconds > 0) {
    parts.push(fillLabel(labels.rate, { n: readableNumber(outputTokens(last) / seconds) }));
  }
  if (last.s > 0 && last.t > 0) {
    parts.push(fillLabel(labels.pace, { n: readableNumber((1000 * last.t) / last.s) }));
  }
  if (store.end && seconds > 0) parts.push(fillLabel(labels.took, { n: seconds.toFixed(2) }));
  const seeds = [...new Set(((store.head && store.head.rows) || []).map((row) => row.seed))];
  if (seeds.length === 1) parts.push(fillLabel(labels.seed, { seed: seeds[0] }));
  if (seeds.length > 1) parts.push(fillLabel(labels.seeds, { seeds: seeds.join(", ") }));
  return parts;
}

function runSeconds(store) {
  if (store.end && store.end.seconds > 0) return store.end.seconds;
  const last = store.last();
  return last && last.t > 0 ? last.t : 0;
}

/** Tokens the model wrote: free cells up to the end of each text. */
function outputTokens(frame) {
  let count = 0;
  for (const row of frame.rows) {
    const length = textLength(row);
    for (let position = 0; position < length; position++) {
      if (!isGiven(row, position) && row.p[position] !== 0 && row.p[position] !== MASK) count++;
    }
  }
  return count;
}

function readableNumber(value) {
  return value >= 100 ? Math.round(value).toString() : value.toPrecision(2).replace(/\.0$/, "");
}

/** What the marks mean. Drawn with the same classes as the text, so it cannot drift from it. */
function createLegend(context) {
  const { labels } = context;
  const element = make("details", "dlm-legend");
  element.open = !window.matchMedia("(max-width: 640px)").matches;
  make("summary", "", element, labels.legend);
  const list = make("ul", "", element);
  const ramp = make("li", "", list);
  make("span", "", ramp, labels.legend_unsure);
  make("span", "dlm-ramp", ramp).setAttribute("aria-hidden", "true");
  make("span", "", ramp, labels.legend_sure);
  const entry = (look, sample, label, families) => {
    const item = make("li", "", list);
    item.dataset.families = families || "";
    make("span", "dlm-sample " + look, item, sample).setAttribute("aria-hidden", "true");
    make("span", "", item, label);
    return item;
  };
  entry("dlm-cell dlm-fog4 dlm-noise", "word", labels.legend_noise, "continuous");
  entry("dlm-cell dlm-fog4 dlm-noise dlm-flicker", "word", labels.legend_flicker, "uniform");
  entry("dlm-cell dlm-mask", "", labels.legend_mask, "masked autoregressive");
  entry("dlm-cell dlm-changed", "word", labels.legend_changed);
  entry("dlm-cell dlm-given", "word", labels.legend_given);
  entry("dlm-cell dlm-given dlm-pinned", "word", labels.legend_pinned, context.options.onPin ? "" : "none");
  const differs = entry("dlm-cell dlm-differs", "word", labels.legend_differs);
  entry("dlm-cell dlm-start", "", labels.special_1);
  entry("dlm-cell dlm-end", "", labels.special_2);
  entry("dlm-cell dlm-pad", "", labels.legend_pad);
  entry("dlm-cell dlm-newline", "", labels.legend_newline);
  entry("dlm-mark", WHITESPACE_GLYPHS[" "], labels.legend_space);

  function draw(frame) {
    const family = context.store.family();
    for (const item of list.children) {
      const families = item.dataset.families;
      setHidden(item, Boolean(families) && !families.split(" ").includes(family));
    }
    setHidden(differs, !context.isResult(frame) || !context.store.differs(context.view.row));
  }
  return { element, draw };
}
