"use strict";

const SPEEDS = [0.25, 0.5, 1, 2, 4];
const SHORTEST_FRAME = 60;
const LIVE_RUN = 1500;
const SHORTEST_LIVE_FRAME = 25;
const LONGEST_LIVE_FRAME = 80;

/** Replays a run at its recorded pace, but never faster than eyes can follow at speed 1. */
function createPlayback(context) {
  let timer = 0;

  function play() {
    const { view, store } = context;
    if (!store.frames.length) return;
    view.follow = context.isLive();
    view.playing = !view.follow;
    if (view.follow) return chase();
    if (view.index >= store.frames.length - 1) view.index = 0;
    schedule();
    context.redraw();
  }

  /** Go on to the newest step, each one shown: a run faster than eyes can follow is drawn a little behind it. */
  function chase() {
    const { view, store } = context;
    const last = store.frames.length - 1;
    context.redraw();
    if (!view.follow || view.playing || view.index >= last || timer) return;
    if (!context.options.live || document.hidden || prefersStill()) {
      view.index = last;
    } else {
      view.index++;
      timer = setTimeout(() => {
        timer = 0;
        chase();
      }, liveDelay(store.total()) / view.speed);
    }
  }

  function halt() {
    clearTimeout(timer);
    timer = 0;
  }

  function pause() {
    halt();
    context.view.playing = false;
    context.redraw();
  }

  function schedule() {
    halt();
    const { view, store } = context;
    timer = setTimeout(advance, frameDelay(store.frames, view.index) / view.speed);
  }

  function advance() {
    timer = 0;
    const { view, store } = context;
    const last = store.frames.length - 1;
    view.index = Math.min(view.index + 1, last);
    if (view.index < last) {
      schedule();
    } else {
      view.playing = false;
      view.follow = true;
    }
    context.redraw();
  }

  /** Whether steps pass on screen, replayed or drawn as they come. */
  const isMoving = () => context.view.playing || (context.view.follow && context.isBusy());

  function toggle() {
    if (!isMoving()) return play();
    context.view.follow = false;
    pause();
  }

  return {
    play,
    pause,
    toggle,
    isMoving,
    chase,
    stop: halt,
  };
}

function prefersStill() {
  return window.matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/** A live run is spread over about LIVE_RUN milliseconds where its steps allow it. */
function liveDelay(steps) {
  return clamp(LIVE_RUN / (steps || 1), SHORTEST_LIVE_FRAME, LONGEST_LIVE_FRAME);
}

function recordedDelay(frames, index) {
  const next = frames[index + 1];
  const milliseconds = next ? 1000 * (next.t - frames[index].t) : 0;
  return Number.isFinite(milliseconds) ? Math.max(0, milliseconds) : 0;
}

function frameDelay(frames, index) {
  return Math.max(SHORTEST_FRAME, recordedDelay(frames, index));
}

function isSlowed(frames) {
  let recorded = 0;
  let shown = 0;
  for (let index = 0; index + 1 < frames.length; index++) {
    recorded += recordedDelay(frames, index);
    shown += frameDelay(frames, index);
  }
  return shown > recorded * 1.1;
}
