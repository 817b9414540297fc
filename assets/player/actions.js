"use strict";

/** Copy and download. */
function createActions(context) {
  const { labels, store, options } = context;
  const element = make("div", "dlm-actions");
  const copy = makeButton("dlm-copy", element, labels.copy, () => copyText());
  makeIcon("copy", copy);
  const copyLabel = make("span", "", copy, labels.copy);
  const menu = make("details", "dlm-menu", element);
  const summary = make("summary", "dlm-button", menu);
  makeIcon("download", summary);
  make("span", "", summary, labels.download);
  const list = make("div", "dlm-menu-list", menu);
  const fallback = makeCopyFallback(context, element);

  const add = (name, label, action) => {
    const node = makeButton("dlm-" + name, list, label, () => {
      menu.open = false;
      action(fileStem(store.head));
    });
    make("span", "", node, label);
  };
  add("save-trace", labels.download_trace, (stem) =>
    saveFile(stem + ".json", "application/json", JSON.stringify(store.trace())));
  add("save-csv", labels.download_csv, (stem) => saveFile(stem + ".csv", "text/csv", traceCsv(store.trace())));
  add("save-png", labels.download_png, (stem) => savePicture(context, stem + ".png"));
  if (options.source) {
    add("save-page", labels.download_page, (stem) =>
      saveFile(stem + ".html", "text/html", standalonePage(store.trace(), options.source, labels, options.language)));
  }

  let copied = false;

  /** The texts of all samples, with a blank line between them. */
  async function copyText() {
    const text = context.frame().rows.map((_, row) => context.text(row)).join("\n\n");
    copied = await writeClipboard(text);
    fallback.show(copied ? null : text);
    context.redraw();
    setTimeout(() => {
      copied = false;
      context.redraw();
    }, 1600);
  }

  function draw(frame) {
    const count = frame.rows.length;
    const name = count > 1 ? fillLabel(labels.copy_all, { n: count }) : labels.copy;
    nameButton(copy, name);
    setText(copyLabel, copied ? labels.copied : name);
  }

  const closeMenu = (event) => {
    const away = event.type === "keydown" ? event.key === "Escape" : !menu.contains(event.target);
    if (menu.open && away) menu.open = false;
  };
  const events = ["pointerdown", "keydown"];
  events.forEach((name) => document.addEventListener(name, closeMenu));
  return { element, draw, destroy: () => events.forEach((name) => document.removeEventListener(name, closeMenu)) };
}

async function writeClipboard(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch (error) {
    return false;
  }
}

// An embedded frame may not be allowed to copy; then the visitor gets the text to copy by hand.
function makeCopyFallback(context, parent) {
  const element = make("label", "dlm-copy-fallback", parent);
  make("span", "", element, context.labels.copy_failed);
  const area = make("textarea", "", element);
  area.readOnly = true;
  element.hidden = true;
  return {
    show(text) {
      setHidden(element, text === null);
      if (text === null) return;
      area.value = text;
      area.focus();
      area.select();
    },
  };
}
