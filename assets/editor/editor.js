"use strict";

const EDITOR_DEFAULTS = {
  storage: null, maxCells: 510, live: true, theme: "host", labels: null, source: null,
  onLive: null, onChange: null, onDocument: null, onRun: null,
};
Object.assign(ICONS, {
  undo: "M8 5 4 9l4 4M4 9h10a5 5 0 0 1 0 10h-3",
  redo: "m16 5 4 4-4 4M20 9H10a5 5 0 0 0 0 10h3",
  minus: "M7 12h10",
  plus: "M7 12h10M12 7v10",
});

/** Build an editor inside root. See README.md for the options, the documents and the runs it takes. */
function createEditor(root, options) {
  const context = createEditorContext({ ...EDITOR_DEFAULTS, ...options });
  injectStyle(context.options.css, "editor");
  context.root = make("div", "dlm-player dlm-editor", root);
  if (context.options.theme === "auto") context.root.classList.add("dlm-auto");
  context.root.tabIndex = -1;
  context.root.setAttribute("role", "region");
  context.root.setAttribute("aria-label", context.labels.editor);
  const parts = buildEditor(context);
  listenToPointer(context, parts.view);
  listenToDocumentKeys(context, parts.view);
  listenToEditorKeys(context);
  context.redraw();
  return editorInterface(context, parts);
}

function createEditorContext(options) {
  const shelf = createShelf(options.storage);
  const context = {
    options,
    labels: { ...DEFAULT_LABELS, ...EDITOR_LABELS, ...options.labels },
    shelf,
    tree: shelf.load() || emptyTree(),
    sentence: "",
  };
  context.document = () => (currentNode(context.tree) ? currentNode(context.tree).document : EMPTY_DOCUMENT);
  context.fresh = () => (currentNode(context.tree) ? currentNode(context.tree).fresh : []);
  context.selection = createSelection(context);
  return context;
}

function buildEditor(context) {
  const parts = { notice: createEditorNotice(context), view: createDocumentView(context) };
  parts.bar = createBar(context);
  context.cell = (row, position) => parts.view.cell(position);
  context.focusCell = (position) => parts.view.focus(position);
  context.focusChip = (index) => parts.bar.focusChip(index);
  context.showChip = (index) => parts.bar.showChip(index);
  context.say = (sentence) => {
    context.sentence = sentence;
    parts.notice.draw();
  };
  context.redraw = () => {
    const { run, root } = context;
    const hadFocus = root.contains(document.activeElement);
    setHidden(parts.view.element, run.shown);
    setHidden(parts.bar.element, run.shown || !context.document().ids.length);
    for (const part of [parts.notice, parts.view, parts.bar, run, parts.history]) part.draw();
    if (hadFocus && isFocusLost(root)) root.focus({ preventScroll: true });
  };
  addDocumentMoves(context);
  parts.history = createHistoryPanel(context);
  context.run = createRun(context);
  const { notice, view, bar, history } = parts;
  context.root.append(notice.element, view.element, context.run.element, bar.element, history.element);
  return parts;
}

/** Whether what had the focus is gone, hidden or disabled; the keys of the editor would go nowhere. */
function isFocusLost(root) {
  const active = document.activeElement;
  return !root.contains(active) || Boolean(active.disabled || active.closest("[hidden]"));
}

/** The moves from one document to another. */
function addDocumentMoves(context) {
  /** Its selection stays with a document that is left, and comes back with it. */
  const leave = () => {
    const node = currentNode(context.tree);
    if (node) node.spans = context.selection.spans();
  };
  const arrive = () => {
    context.run.dismiss();
    context.selection.reset(currentNode(context.tree).spans);
    context.options.onDocument?.(context.document());
  };
  const keep = () => {
    const outcome = context.shelf.save(context.tree);
    if (outcome === "dropped") context.say(context.labels.edit_dropped);
    if (outcome === "lost") context.say(context.labels.edit_unsaved);
    context.redraw();
  };
  /** Go on to another document; returns whether it is another one. */
  context.grow = (node) => {
    const isNew = !currentNode(context.tree) || !sameIds(node.document.ids, context.document().ids);
    if (!isNew) {
      context.run.dismiss();
      return false;
    }
    leave();
    addNode(context.tree, node);
    arrive();
    keep();
    return true;
  };
  context.visit = (id) => {
    if (context.run.isBusy() || id === null || !findNode(context.tree, id)) return false;
    leave();
    visitNode(context.tree, id);
    arrive();
    keep();
    return true;
  };
  /** Alternatives on screen are the last thing done: undo takes them back first, and redo brings them again. */
  context.undo = () => (context.run.over ? context.run.discard() : context.visit(undoTarget(context.tree)));
  context.redo = () => (context.run.isDiscarded() ? context.run.again() : context.visit(redoTarget(context.tree)));
  context.forget = () => {
    const node = currentNode(context.tree);
    context.tree = { nodes: [{ ...node, parent: null, recent: null }], current: node.id };
    keep();
  };
}

/** Over the text, what to do; a sentence stands in its place, so that the text stays where it is. */
function createEditorNotice(context) {
  const { labels, selection } = context;
  const element = make("div", "dlm-notice");
  const said = make("p", "dlm-said", element);
  said.setAttribute("role", "status");
  const touch = window.matchMedia("(pointer: coarse)").matches ? "_touch" : "";
  const lead = make("p", "dlm-lead", element);

  function draw() {
    setText(said, context.sentence);
    const when = context.run.hasOffers() ? "edit_lead_over" : (selection.holes.length ? "edit_lead" : "edit_lead_none") + touch;
    setText(lead, labels[when]);
    setHidden(lead, !context.document().ids.length);
  }
  return { element, draw };
}

function editorInterface(context, { view }) {
  const { run, labels } = context;
  const { player } = run;
  const delegated = ["trace", "step", "goTo", "play", "pause", "settled", "csv", "page", "stop"];
  return {
    ...Object.fromEntries(delegated.map((name) => [name, player[name]])),
    push: (message) => run.push(message),
    load: (trace) => run.load(trace),
    text: (row) => (run.shown ? player.text(row) : documentText(context.document())),
    reveal() {
      const { top } = (run.shown ? run.element : view.element).getBoundingClientRect();
      if (top < 0 || top > window.innerHeight / 2) context.root.scrollIntoView({ block: "start" });
    },
    open(document, label) {
      if (!isDocument(document)) return false;
      const isNew = context.grow({ document: { ids: [...document.ids], pieces: [...document.pieces] }, label: String(label || labels.edit_typed) });
      const blanks = blankSpans(document.pieces);
      if (blanks.length && !context.selection.holes.length) context.selection.select(blanks);
      return isNew;
    },
    /** Go on with a row of a run, as it stands. */
    take(trace, row, label) {
      const { document } = rowDocument(trace.frames[trace.frames.length - 1].rows[row]);
      if (document.pieces.includes(MASK)) return context.say(labels.edit_open_cells);
      context.grow({ document, label });
    },
    request: () => editorRequest(context),
    document: () => context.document(),
    select: (spans) => context.selection.select(spans),
    undo: () => context.undo(),
    redo: () => context.redo(),
    history: () => ({ nodes: context.tree.nodes.map((node) => ({ ...node })), current: context.tree.current }),
    say: (sentence) => context.say(sentence),
    destroy() {
      player.destroy();
      context.root.remove();
    },
  };
}
