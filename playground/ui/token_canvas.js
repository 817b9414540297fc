// Runs when Gradio loads the canvas, with the player filled in as source; `element`, `props`, `watch` and
// `trigger` are Gradio's. One run at a time: Gradio loses track of a run that starts while it still cancels the one
// before, so a new start waits until the old run is gone.
const source = SOURCE;
const host = element.querySelector(".dlm-host");
const PATIENCE = 2000;
let phase = "idle"; // or "running", "stopping"
let again = false; // start once more when the run that is being stopped is gone
let drawing = false; // the player still has steps to show
let told = false;

const player = new Function(source.js + "\nreturn createPlayer;")()(host, {
  css: source.css, source, live: true, autoplay: true,
  onPin: (at) => trigger("pin", { ...at, seed: host.seed() }),
  onUnpin: (at) => trigger("unpin", { ...at, seed: host.seed() }),
  onLive: (live) => {
    drawing = live;
    tell();
  },
});

function cancel() {
  phase = "stopping";
  trigger("halt");
}

function tell() {
  if (host.busy() === told) return;
  told = host.busy();
  trigger("turn");
}

Object.assign(host, {
  player,
  seed: () => (player.trace().head ? player.trace().head.recipe.seed : -1),
  busy: () => again || drawing || phase === "running",
  start() {
    player.reveal();
    again = phase !== "idle";
    if (phase === "running") cancel();
    if (phase === "idle") {
      phase = "running";
      trigger("go");
    }
    tell();
  },
  stop() {
    again = false;
    player.stop();
    if (phase === "running") cancel();
    tell();
  },
  /** The run has ended by itself; when it ended just as it was cancelled, nothing else will say so. */
  completed() {
    if (phase === "stopping") setTimeout(() => phase === "stopping" && host.gone(), PATIENCE);
    if (phase === "running") phase = "idle";
    tell();
  },
  /** The run was cancelled, or it failed. */
  gone() {
    phase = "idle";
    if (again) host.start();
    else player.stop();
    tell();
  },
});

const show = () => {
  if (!props.value) return;
  const data = JSON.parse(props.value);
  if (data.format) player.load(data);
  else player.push(data);
};
watch("value", show);
show();
