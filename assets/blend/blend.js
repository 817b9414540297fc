"use strict";

/** Build the view of a path between two texts inside root: a slider, the text at that point in a player, a table. */
function createBlend(root, options) {
  const labels = { ...BLEND_LABELS, ...(options.labels || {}) };
  injectStyle(options.css, "blend");
  const element = make("div", "dlm-player dlm-blend", root);
  const slider = createBlendSlider(labels, (point) => {
    player.show(point);
    draw();
  });
  const about = make("p", "dlm-about", element);
  element.append(slider.element);
  const stage = make("div", "dlm-blend-stage", element);
  const player = createPlayer(stage, {
    ...options, css: null, single: true, autoplay: false, mode: "compact", labels: { ...(options.labels || {}), recorded: labels.recorded, kept: labels.kept }, onPin: null, onUnpin: null, onDraw: draw,
  });
  const table = createBlendTable(labels, (point) => {
    slider.move(point);
    player.reveal();
  });
  element.append(table.element);

  /** The path as it stands: of a finished one the texts it ended with, else those of the newest step. */
  function draw() {
    const { head, frames, end } = player.trace();
    const usable = head && Array.isArray(head.rows) && frames.length;
    setHidden(slider.element, !usable);
    setHidden(table.element, !usable);
    if (!usable) return;
    const weights = head.rows.map(({ weight }) => weight);
    const isSum = Boolean(head.blend) && head.blend.method === "arithmetic";
    setText(about, fillLabel(isSum ? labels.about_sum : labels.about_path, { n: weights.length }));
    slider.toSum(isSum);
    slider.points(weights);
    const path = (end && end.path) || null;
    const texts = frames[frames.length - 1].rows.map((_, row) => player.newest(row));
    table.draw(texts, weights, slider.point(), path);
    slider.say(path && !isSum ? endWordsOf(path, slider.point(), weights.length - 1) : "");
  }

  function endWordsOf(path, point, last) {
    if (point === 0) return path.exact[0] ? labels.is_a : labels.not_a;
    if (point === last) return path.exact[1] ? labels.is_b : labels.not_b;
    return "";
  }

  draw();
  return {
    ...player,
    load(trace, how) {
      player.load(trace, how);
      draw();
    },
    goToPoint: (point) => slider.move(point),
    point: () => slider.point(),
    destroy() {
      player.destroy();
      element.remove();
    },
  };
}
