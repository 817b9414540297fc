"use strict";

/** Space, arrows, Home and End drive the timeline while the player itself has focus. */
function listenToKeys(context, parts) {
  const { root, view, playback } = context;
  const moves = {
    " ": () => playback.toggle(),
    ArrowLeft: () => context.goIndex(view.index - 1),
    ArrowRight: () => context.goIndex(view.index + 1),
    Home: () => context.goIndex(0),
    End: () => context.goIndex(Infinity),
  };
  const onKey = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, textarea, select, .dlm-cell")) return;
    const onControl = event.target.closest("button, summary");
    if (!moves[event.key] || (event.key === " " && onControl)) return;
    event.preventDefault();
    moves[event.key]();
  };
  const onEscape = (event) => {
    if (event.key === "Escape") parts.card.hide();
  };
  root.addEventListener("keydown", onKey);
  document.addEventListener("keydown", onEscape);
  return () => {
    root.removeEventListener("keydown", onKey);
    document.removeEventListener("keydown", onEscape);
  };
}

/** Hover, focus, click and arrow keys on the tokens, through one set of listeners on the whole text. */
function listenToCells(context, parts) {
  const text = parts.text.element;
  const { card } = parts;
  const place = (event) => {
    const cell = event.target.closest && event.target.closest(".dlm-cell");
    return cell ? { row: Number(cell.dataset.row), position: Number(cell.dataset.position) } : null;
  };

  text.addEventListener("pointerover", (event) => {
    const at = place(event);
    if (event.pointerType === "touch") return;
    if (at) card.hover(at.row, at.position);
    else card.leave();
  });
  text.addEventListener("pointerleave", () => card.leave());
  text.addEventListener("click", (event) => {
    const at = place(event);
    const selecting = !window.getSelection().isCollapsed;
    if (at && !selecting) choose(at);
  });
  text.addEventListener("focusin", (event) => {
    const at = place(event);
    // Closing the card hands focus back to its cell; that must not open it again.
    const back = card.element.contains(event.relatedTarget);
    if (at && !back && event.target.matches(":focus-visible")) card.show(at.row, at.position, true);
  });
  for (const part of [text, card.element]) {
    part.addEventListener("focusout", ({ relatedTarget: next }) => {
      if (next && !text.contains(next) && !card.element.contains(next)) card.hide();
    });
  }
  text.addEventListener("keydown", (event) => {
    const at = place(event);
    if (!at || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      context.select(at.row, at.position);
      card.show(at.row, at.position, true);
      return card.enter();
    }
    const next = nextCell(context, at, event.key);
    if (next === null) return;
    event.preventDefault();
    focusCell(context, at.row, next);
  });

  function choose({ row, position }) {
    const again = context.view.row === row && context.view.cell === position && card.isSticky();
    context.select(row, position);
    if (again) card.hide();
    else card.show(row, position, true);
  }

  const onOutside = (event) => {
    if (card.isOpen() && !card.element.contains(event.target) && !place(event)) card.hide();
  };
  document.addEventListener("pointerdown", onOutside);
  return () => document.removeEventListener("pointerdown", onOutside);
}

function focusCell(context, row, position) {
  const cell = context.cell(row, position);
  if (!cell) return;
  context.select(row, position);
  cell.focus();
}

/** Where an arrow key leads: along the text, or to the nearest cell one line up or down. */
function nextCell(context, { row, position }, key) {
  const first = firstVisible(context.frame().rows[row]);
  const last = context.frame().rows[row].p.length - 1;
  const moves = { ArrowLeft: position - 1, ArrowRight: position + 1, Home: first, End: last };
  if (key in moves) return clamp(moves[key], first, last);
  if (key === "ArrowUp") return cellOnLine(context, row, position, -1);
  if (key === "ArrowDown") return cellOnLine(context, row, position, 1);
  return null;
}

function cellOnLine(context, row, position, direction) {
  const here = context.cell(row, position).getBoundingClientRect();
  let best = position;
  let line = null;
  let distance = Infinity;
  for (let at = position + direction; context.cell(row, at); at += direction) {
    const box = context.cell(row, at).getBoundingClientRect();
    const moved = direction * (box.top - here.top) > here.height / 2;
    if (!moved) continue;
    if (line !== null && Math.abs(box.top - line) > here.height / 2) break;
    line = box.top;
    if (Math.abs(box.left - here.left) >= distance) continue;
    distance = Math.abs(box.left - here.left);
    best = at;
  }
  return best;
}
