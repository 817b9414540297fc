"use strict";

const RACE_FORMAT = "diffusion-lm-playground/race";

/** Build the view of a race inside root: a lane for each racer, and one clock for all. See README.md. */
function createRace(root, options) {
  const labels = { ...RACE_LABELS, ...(options.labels || {}) };
  injectStyle(options.css, "race");
  const element = make("div", "dlm-player dlm-race", root);
  element.tabIndex = 0;
  element.setAttribute("role", "region");
  element.setAttribute("aria-label", labels.race);
  const note = make("p", "dlm-note", element);
  const track = make("div", "dlm-lanes", element);
  const clock = createClock(labels, moments, request);
  element.append(clock.element);
  const save = makeButton("dlm-save-race", clock.side, labels.download_hint, () =>
    saveFile("race-seed" + race.race.seed + ".json", "application/json", JSON.stringify(trace())));
  makeIcon("download", save);
  make("span", "", save, labels.download);
  const about = make("p", "dlm-about", element);
  const spoken = make("div", "dlm-spoken", element);
  spoken.setAttribute("role", "status");
  const nothing = { run: null, race: null, vocabulary: [], results: null, judge: null };
  let race = nothing;
  let lanes = [];
  let stopped = false;
  let pending = 0;
  let known = null; // the moments, until something new comes
  listenToRaceKeys(element, clock);
  const awaited = options.autoplay ? whenSeen(element, () => race.run === "recorded" && !prefersStill() && clock.play()) : null;
  request();

  function moments() {
    known = known || [...new Set(lanes.flatMap((lane) => lane.times()))].sort((a, b) => a - b);
    return known;
  }

  function request() {
    if (!pending) pending = requestAnimationFrame(draw);
  }

  function draw() {
    pending = 0;
    setHidden(clock.element, !lanes.length);
    clock.draw();
    setText(note, options.live && ["recorded", "kept"].includes(race.run) ? labels[race.run] : "");
    setHidden(note, !note.textContent);
    const ends = lanes.filter((lane) => lane.status() === "finished").map((lane) => lane.seconds());
    lanes.forEach((lane, index) => {
      const before = lane.flag();
      const place = lane.status() === "finished" ? 1 + ends.filter((end) => end < lane.seconds()).length : 0;
      lane.draw(clock.time(), place, race.results && race.results[index]);
      if (lane.flag() && !before) setText(spoken, lane.flagTitle());
    });
    const judged = race.results && race.judge;
    setText(about, race.results ? fillLabel(judged ? labels.about : labels.about_unjudged, { judge: race.judge }) : "");
    if (options.onDraw) options.onDraw(Boolean(race.results) && clock.time() >= moments()[moments().length - 1]);
  }

  /** Lanes for the racers of a race; those of the last one are kept where they are the same. */
  function enter(found) {
    const same = race.race && race.race.length === found.race.length && race.race.lanes.join() === found.race.lanes.join();
    race = { ...nothing, ...found };
    stopped = false;
    if (same) return;
    lanes.forEach((lane) => lane.destroy());
    lanes = race.race.lanes.map((_, index) => createLane(track, labels, ...names(index), options));
  }

  /** What a lane is called, and how its family writes. */
  function names(index) {
    const { families, race: { lanes: entries } } = race;
    const [model, sampler] = entries[index].split(":");
    const name = (labels[families[index]] || families[index]) + " · " + sampler.replace(/_/g, " ");
    const alike = entries.filter((entry, other) => entry.endsWith(":" + sampler) && families[other] === families[index]);
    return [alike.length > 1 ? name + " · " + model : name, labels["way_" + families[index]] || ""];
  }

  /** The message of a lane's trace, or a trace, with the vocabulary that all share. */
  function whole(told) {
    if (!told.head || told.head.vocabulary) return told;
    return { ...told, head: { ...told.head, vocabulary: race.vocabulary } };
  }

  /** The race file, of these traces of its lanes. */
  function trace(runs = lanes.map(({ player }) => player.trace())) {
    const traces = runs.map(({ head, ...rest }) => ({
      ...rest, head: head && head.vocabulary === race.vocabulary ? { ...head, vocabulary: undefined } : head,
    }));
    const { race: fields, vocabulary, results, judge } = race;
    return { format: RACE_FORMAT, version: 1, race: fields, vocabulary, lanes: traces, results, judge };
  }

  return {
    push(message) {
      const found = typeof message === "string" ? JSON.parse(message) : message;
      if (found.run !== race.run) {
        if (!found.race) return;
        enter({ ...found, families: found.lanes.map(([, told]) => told.head.model.family) });
        clock.follow();
      }
      if (stopped) return;
      for (const [lane, told] of found.lanes) lanes[lane].player.push(whole(told));
      if (found.results) race = { ...race, results: found.results, judge: found.judge };
      known = null;
      request();
    },
    load(file, { kept = false } = {}) {
      if (!file || file.format !== RACE_FORMAT || !Array.isArray(file.lanes)) throw new Error(labels.bad_trace);
      enter({ ...file, run: kept ? "kept" : "recorded", families: file.lanes.map(({ head }) => head.model.family) });
      file.lanes.forEach((told, lane) => lanes[lane].player.load(whole(told), { kept }));
      known = null;
      clock.follow();
      request();
    },
    stop() {
      if (!race.results) lanes.forEach(({ player }) => player.stop());
      stopped = !race.results;
      known = null;
      request();
    },
    reveal() {
      const { top } = track.getBoundingClientRect();
      if (top < 0 || top >= window.innerHeight / 2) element.scrollIntoView({ block: "start" });
    },
    trace: () => trace(),
    kept(slim) {
      const traces = lanes.map(({ player }) => player.kept(slim));
      return traces.length && traces.every(Boolean) ? trace(traces) : null;
    },
    play: clock.play,
    pause: clock.pause,
    goTo: clock.goTo,
    time: clock.time,
    text: (lane) => lanes[lane].player.text(0),
    newest: (lane) => lanes[lane].player.newest(0),
    destroy() {
      clock.halt();
      if (awaited) awaited.disconnect();
      cancelAnimationFrame(pending);
      lanes.forEach((lane) => lane.destroy());
      element.remove();
    },
  };
}

/** Space, arrows, Home and End drive the clock, also while a lane or the slider has focus. */
function listenToRaceKeys(element, clock) {
  const moves = {
    " ": clock.toggle,
    ArrowLeft: clock.back,
    ArrowRight: clock.forward,
    Home: () => clock.goTo(0),
    End: () => clock.goTo(Infinity),
  };
  element.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !moves[event.key]) return;
    if (event.target.closest("select, .dlm-cell") || (event.key === " " && event.target.closest("button"))) return;
    event.preventDefault();
    event.stopPropagation();
    moves[event.key]();
  });
}

/** Call once when an element is first on screen. */
function whenSeen(element, action) {
  const observer = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    observer.disconnect();
    action();
  });
  observer.observe(element);
  return observer;
}
