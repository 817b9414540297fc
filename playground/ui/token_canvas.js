// Runs when Gradio loads the canvas, with what Python gives it filled in; `element`, `props`, `watch` and
// `trigger` are Gradio's.
const given = GIVEN;
const sources = given.parts.map((part) => window.dlmSources[part]);
const joined = (kind) => sources.map((source) => source[kind]).join("\n");
const host = element.querySelector(".dlm-host");
const JOINING = 400; // milliseconds in which the queue takes a run; one that it has not taken cannot be cancelled
const PATIENCE = 2000;
const IN_LINE = 900; // milliseconds without a step after which others are surely served first
// One run at a time. Gradio says of a cancelled run twice that it is gone, and only then can it follow the next one.
let phase = "idle"; // or "running", "stopping"
let again = false; // start once more when the run that is being stopped is gone
let drawing = false; // the player still has steps to show
let started = 0;
let heard = false; // a step of this run has come
let farewells = 0;
let halting = 0;
let waiting = 0;
let told = "idle";
let wanted; // what an editor asks for
const place = "dlm-kept-" + given.id;

const player = new Function(joined("js") + "\nreturn " + given.create + ";")()(host, {
  css: joined("css"), source: window.dlmSources.player, live: true, autoplay: true, storage: given.storage,
  onRun: () => host.start(),
  onPin: (at) => trigger("pin", { ...at, seed: host.seed() }),
  onUnpin: (at) => trigger("unpin", { ...at, seed: host.seed() }),
  onLive: (live) => {
    drawing = live;
    tell();
  },
});

function begin() {
  phase = "running";
  again = heard = false;
  started = performance.now();
  trigger("go", wanted);
  setTimeout(tell, IN_LINE);
}

function cancel() {
  phase = "stopping";
  farewells = 0;
  const send = () => {
    halting = 0;
    trigger("halt");
  };
  halting = setTimeout(send, heard ? 0 : started + JOINING - performance.now());
}

function over() {
  clearTimeout(halting);
  clearTimeout(waiting);
  halting = waiting = 0;
  phase = "idle";
  if (again) begin();
  else player.stop();
  tell();
}

function tell() {
  if (host.state() === told) return;
  told = host.state();
  trigger("turn");
}

Object.assign(host, {
  player,
  seed: () => (player.trace().head ? player.trace().head.recipe.seed : -1),
  state() {
    if (!again && !drawing && phase !== "running") return "idle";
    return heard || performance.now() - started < IN_LINE ? "running" : "waiting";
  },
  /** The text of another canvas's run, to edit. */
  take(trace) {
    if (trace.frames.length) player.take(trace, 0, "From Watch");
  },
  start() {
    if (player.request) {
      wanted = player.request();
      if (!wanted) return;
      wanted.text = documentText(player.document());
    }
    player.reveal();
    again = phase !== "idle";
    if (phase === "running") cancel();
    if (phase === "idle") begin();
    tell();
  },
  stop() {
    again = false;
    player.stop();
    if (phase === "running") cancel();
    tell();
  },
  /** The run has ended by itself. */
  completed() {
    if (phase === "running") phase = "idle";
    if (halting) over();
    else if (phase === "stopping") waiting = waiting || setTimeout(over, PATIENCE);
    tell();
  },
  /** The run was cancelled, or it failed. */
  gone() {
    if (phase === "running") over();
    if (phase === "stopping" && ++farewells === 2) over();
    else if (phase === "stopping") waiting = waiting || setTimeout(over, PATIENCE);
  },
});

function open({ document, label, select, initial }) {
  if (initial && player.document().ids.length) return; // the visitor's own text is still here
  player.open(document, label);
  if (select) player.select(select);
}

function documentText({ pieces }) {
  return pieces.filter((piece) => typeof piece === "string").join("");
}

const show = () => {
  if (!props.value) return;
  const data = JSON.parse(props.value);
  if (data.document) return open(data);
  heard = true;
  document.body.classList.remove(place);
  if (data.format) player.load(data);
  else player.push(data);
  tell();
};
// What the visitor made outlives a reload of the tab, which Gradio does by itself when the connection was lost.
window.addEventListener("pagehide", () => player.kept && [false, true].some(keep));

/** Whether there was no need of a slimmer one. */
function keep(slim) {
  try {
    sessionStorage.removeItem(place); // rather none than an older one
    const kept = player.kept(slim);
    if (kept) sessionStorage.setItem(place, JSON.stringify(kept));
    return true;
  } catch {
    return false; // there is no room, or no storage
  }
}

/** Show what was kept, if anything was; until there is something new, figures of the recorded example are not shown. */
function recall() {
  try {
    const kept = player.kept && JSON.parse(sessionStorage.getItem(place));
    if (kept) player.load(kept, { kept: true });
    document.body.classList.toggle(place, Boolean(kept));
    return Boolean(kept);
  } catch {
    return false;
  }
}

watch("value", show);
if (!recall()) show();
