"use strict";

/** Undo, redo, and the list of every version, newest first. */
function createHistoryPanel(context) {
  const { labels } = context;
  const element = make("div", "dlm-history");
  const undo = makeTool(element, "undo", labels.edit_undo, labels.edit_undo, () => context.undo());
  const redo = makeTool(element, "redo", labels.edit_redo, labels.edit_redo, () => context.redo());
  const again = makeTool(element, "again", labels.edit_again, labels.edit_again, () => context.run.again());
  for (const [name, button] of [["undo", undo], ["redo", redo]]) {
    makeIcon(name, button);
    button.prepend(button.lastChild);
  }
  const panel = make("details", "dlm-versions", element);
  const summary = make("summary", "dlm-button dlm-tool", panel);
  const list = make("ol", "dlm-version-list", panel);
  const forget = makeForget(context, panel);
  element.append(createKeyList(context));
  const entries = new Map();
  panel.addEventListener("toggle", () => draw());

  function draw() {
    const { tree, run } = context;
    const busy = run.isBusy();
    undo.disabled = busy || (undoTarget(tree) === null && !run.over);
    redo.disabled = busy || (redoTarget(tree) === null && !run.isDiscarded());
    setHidden(again, !run.canShowAgain());
    const n = tree.nodes.length;
    setText(summary, n === 1 ? labels.edit_history_one : fillLabel(labels.edit_history_count, { n }));
    setHidden(panel, n === 0);
    if (panel.open) drawList(busy);
    forget.draw();
  }

  function drawList(busy) {
    const { tree } = context;
    for (const [node, entry] of entries) {
      if (tree.nodes.includes(node)) continue;
      entry.element.remove();
      entries.delete(node);
    }
    for (const node of tree.nodes) {
      if (entries.has(node)) continue;
      entries.set(node, createVersion(context, node));
      list.prepend(entries.get(node).element);
    }
    entries.forEach((entry) => entry.draw(busy));
  }
  return { element, draw };
}

/** One version: where it came from, what it changed, and how many others grew from it. */
function createVersion(context, node) {
  const { labels } = context;
  const element = make("li", "");
  const button = make("button", "dlm-version", element);
  button.type = "button";
  button.addEventListener("click", () => context.visit(node.id));
  const facts = make("span", "dlm-version-facts", button);
  const change = make("span", "dlm-version-change", button);
  const parent = findNode(context.tree, node.parent);
  const parts = parent ? wordDiff(documentText(parent.document), documentText(node.document)) : [];
  if (node.fresh.length || isRelated(parts)) drawDiff(change, shortenDiff(parts), labels);
  else setText(change, shortWords(node.document.pieces, 0, node.document.pieces.length, labels, 60));

  function draw(busy) {
    const isNow = context.tree.current === node.id;
    const next = continuations(context.tree, node.id).length;
    const words = [node.label, shortTime(new Date(node.time))];
    if (node.seed !== null) words.splice(1, 0, fillLabel(labels.seed, { seed: node.seed }));
    if (next > 1) words.push(fillLabel(labels.edit_branches, { n: next }));
    if (isNow) words.push(labels.edit_now);
    setText(facts, words.join(" · "));
    button.classList.toggle("dlm-version-now", isNow);
    if (isNow) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
    button.disabled = busy;
  }
  return { element, draw };
}

function shortTime(time) {
  const clock = { hour: "2-digit", minute: "2-digit" };
  const isToday = time.toDateString() === new Date().toDateString();
  return isToday ? time.toLocaleTimeString([], clock) : time.toLocaleString([], { month: "short", day: "numeric", ...clock });
}

/** Clearing is asked twice, in place. */
function makeForget(context, parent) {
  const { labels } = context;
  const element = make("div", "dlm-forget", parent);
  const start = makeTool(element, "forget", labels.edit_forget, labels.edit_forget, () => ask(true));
  const question = make("span", "dlm-forget-ask", element);
  make("span", "", question, labels.edit_forget_ask);
  const yes = makeTool(question, "forget-yes", labels.edit_forget_yes, labels.edit_forget_yes, () => {
    ask(false);
    context.forget();
  });
  makeTool(question, "forget-no", labels.edit_forget_no, labels.edit_forget_no, () => ask(false));
  let asking = false;

  function ask(now) {
    asking = now;
    draw();
    (asking ? yes : start).focus();
  }
  function draw() {
    setHidden(start, asking);
    setHidden(question, !asking);
  }
  return { draw };
}
