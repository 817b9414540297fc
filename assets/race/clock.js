"use strict";

const RACE_SPEEDS = [["1×", 1], ["1/2×", 1 / 2], ["1/4×", 1 / 4], ["1/8×", 1 / 8], ["1/16×", 1 / 16]];
const SHORTEST_REPLAY = 4; // seconds, unless the visitor has chosen a speed
const TICKS = 1e5; // a second on the slider: the times of a trace have five decimals

/** The clock that all lanes share: it runs, stands still, or follows the newest step of a live race. Times are seconds;
    `moments` gives those at which something happens, in order. */
function createClock(labels, moments, onTime) {
  const element = make("div", "dlm-timeline dlm-clock");
  const button = makeButton("dlm-go-play", make("div", "dlm-transport", element), labels.play, () => toggle());
  const icon = makeIcon("play", button);
  const range = make("input", "dlm-range", element);
  Object.assign(range, { type: "range", min: 0, max: 1, step: 1 });
  range.setAttribute("aria-label", labels.scrub);
  range.addEventListener("input", () => goTo(Number(range.value) / TICKS));
  const side = make("div", "dlm-timeline-side", element);
  const count = make("output", "dlm-count", side);
  const speed = make("select", "dlm-speed", side);
  speed.setAttribute("aria-label", labels.speed);
  speed.title = labels.speed;
  for (const [name, value] of RACE_SPEEDS) make("option", "", speed, name).value = String(value);
  let chosen = false;
  speed.addEventListener("change", () => (chosen = true));
  let time = 0;
  let following = true;
  let pending = 0;
  let before = null;

  const duration = () => moments()[moments().length - 1] || 0;

  function play() {
    if (time >= duration()) time = 0;
    if (!chosen) speed.value = String(suitedSpeed(duration()));
    following = false;
    before = null;
    cancelAnimationFrame(pending);
    pending = requestAnimationFrame(tick);
    onTime();
  }

  function tick(now) {
    time += before === null ? 0 : ((now - before) / 1000) * Number(speed.value);
    before = now;
    pending = requestAnimationFrame(tick);
    if (time >= duration()) goTo(duration());
    else onTime();
  }

  function halt() {
    cancelAnimationFrame(pending);
    pending = 0;
  }

  function goTo(seconds) {
    halt();
    time = clamp(seconds, 0, duration());
    following = time >= duration();
    onTime();
  }

  const toggle = () => (pending ? goTo(time) : play());
  const back = () => goTo(moments().findLast((moment) => moment < time) || 0);
  const forward = () => goTo(moments().find((moment) => moment > time) || duration());

  function draw() {
    if (following) time = duration();
    range.max = Math.max(1, Math.round(duration() * TICKS));
    range.value = Math.round(time * TICKS);
    const said = fillLabel(labels.at, { time: time.toFixed(2), all: duration().toFixed(2) });
    setText(count, said);
    range.setAttribute("aria-valuetext", said);
    range.style.setProperty("--dlm-shown", (100 * time) / (duration() || 1) + "%");
    range.style.setProperty("--dlm-loaded", "100%");
    icon.setAttribute("d", ICONS[pending ? "pause" : "play"]);
    button.classList.toggle("dlm-playing", Boolean(pending));
    nameButton(button, pending ? labels.pause : labels.play);
  }

  return {
    element,
    side,
    draw,
    play,
    toggle,
    back,
    forward,
    goTo,
    pause: () => goTo(time),
    halt,
    time: () => time,
    isPlaying: () => Boolean(pending),
    /** Go along with a race that has begun. */
    follow() {
      halt();
      following = true;
    },
  };
}

/** The highest speed at which a replay can still be followed. */
function suitedSpeed(seconds) {
  const [, slowest] = RACE_SPEEDS[RACE_SPEEDS.length - 1];
  return (RACE_SPEEDS.find(([, speed]) => seconds / speed >= SHORTEST_REPLAY) || [null, slowest])[1];
}
