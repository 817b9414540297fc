"use strict";

const RACE_SCORES = ["perplexity", "entropy", "distinct_2", "repetition"];
const RACE_DIGITS = { perplexity: 1, entropy: 2, distinct_2: 2, repetition: 2 };

/** One racer: its name and place, how far it is, its text in a player, its numbers. Times are seconds of its computing. */
function createLane(parent, labels, name, way, options) {
  const element = make("section", "dlm-lane", parent);
  element.setAttribute("aria-label", name);
  const head = make("header", "dlm-lane-head", element);
  make("h3", "dlm-lane-name", head, name);
  make("span", "dlm-lane-way", head, way);
  const flag = make("span", "dlm-flag", head);
  const progress = make("div", "dlm-progress", element);
  progress.setAttribute("role", "progressbar");
  const bar = make("span", "", progress);
  const stage = make("div", "", element);
  const player = createPlayer(stage, {
    ...options, css: null, mode: "text", live: false, autoplay: false, onPin: null, onUnpin: null, onLive: null, onRun: null, labels: { ...(options.labels || {}), player: name },
  });
  stage.firstElementChild.tabIndex = -1; // the keys are the race's
  const meter = make("p", "dlm-meter", element);
  const scores = make("dl", "dlm-scores", element);
  const values = Object.fromEntries(RACE_SCORES.map((score) => {
    const pair = make("div", "", scores);
    make("dt", "", pair, labels[score]);
    return [score, make("dd", "", pair)];
  }));

  const frames = () => player.trace().frames;
  const seconds = () => (frames().length ? frames()[frames().length - 1].t : 0);
  const status = () => (player.trace().end ? player.trace().end.status : "");

  /** Show the newest step that was there at `time`; `place` is its rank, 0 for none. */
  function draw(time, place, result) {
    if (!frames().length) return;
    const frame = newestBy(frames(), time);
    if (player.step() !== frame.s) player.goTo(frame.s);
    const over = status() !== "" && frame === frames()[frames().length - 1];
    drawProgress(frame, over && status() === "finished");
    drawFlag(over, place);
    setText(meter, numbers(frame, over && status() === "finished").join(" · "));
    element.classList.toggle("dlm-scored", Boolean(over && result && result.place));
    for (const score of RACE_SCORES) {
      const value = result ? result[score] : null;
      setText(values[score], typeof value === "number" ? value.toFixed(RACE_DIGITS[score]) : labels.unknown);
    }
  }

  function drawProgress(frame, finished) {
    const total = finished ? frame.s : Math.max(frame.n, frame.s, 1);
    bar.style.width = (100 * frame.s) / total + "%";
    progress.setAttribute("aria-valuenow", String(Math.round((100 * frame.s) / total)));
    progress.setAttribute("aria-label", fillLabel(labels.progress, { name, s: frame.s, n: total }));
  }

  function drawFlag(over, place) {
    const rank = labels.places.split(" ")[place - 1];
    const words = { finished: rank, error: labels.failed, stopped: labels.stopped }[status()];
    setText(flag, over && words ? words : "");
    setHidden(flag, !flag.textContent);
    flag.classList.toggle("dlm-first", place === 1 && status() === "finished");
    flag.title = over && place ? fillLabel(labels.place_title, { name, place: rank, seconds: seconds().toFixed(2) }) : "";
  }

  function numbers(frame, finished) {
    const parts = [frame.e === 1 ? labels.evaluations_one : fillLabel(labels.evaluations, { n: frame.e })];
    parts.push(fillLabel(labels.seconds, { n: frame.t.toFixed(2) }));
    if (finished && frame.t > 0) parts.push(fillLabel(labels.rate, { n: readableNumber(outputTokens(frame) / frame.t) }));
    return parts;
  }

  return {
    element,
    player,
    name,
    draw,
    seconds,
    status,
    times: () => frames().map(({ t }) => t),
    flag: () => flag.textContent,
    flagTitle: () => flag.title,
    destroy() {
      player.destroy();
      element.remove();
    },
  };
}

/** The last of some frames, in order of time, that was there at `time`; there is always the first. */
function newestBy(frames, time) {
  let index = frames.length - 1;
  while (index > 0 && frames[index].t > time) index--;
  return frames[index];
}
