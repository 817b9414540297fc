"use strict";

const CANDIDATES = 5;
const HOVER_OPEN = 110;
const HOVER_CLOSE = 220;

/** What is known about one cell at this step; opens on hover, focus or tap. */
function createCard(context) {
  const { labels, options } = context;
  const element = make("div", "dlm-card");
  element.setAttribute("role", "dialog");
  element.hidden = true;
  // The top layer keeps the card clear of any clipping or transformed ancestor of the host page.
  if (element.showPopover) element.popover = "manual";
  const head = make("div", "dlm-card-head", element);
  const token = make("span", "dlm-card-token", head);
  const close = makeButton("dlm-card-close", head, labels.close, () => hide());
  makeIcon("close", close);
  const facts = make("div", "dlm-card-facts", element);
  const table = make("dl", "dlm-card-table", element);
  const values = {};
  for (const name of ["confidence", "entropy", "settled"]) {
    make("dt", "", table, labels[name]);
    values[name] = make("dd", "", table);
  }
  const title = make("div", "dlm-card-title", element);
  const list = makeCandidates(context, element, () => target);
  const pin = makeButton("dlm-pin", element, labels.pin, () => togglePin());
  const pinText = make("span", "", pin);

  let target = null;
  let sticky = false;
  let timer = 0;

  function show(row, position, stay) {
    clearTimeout(timer);
    target = { row, position };
    sticky = stay;
    element.hidden = false;
    if (element.popover && !element.matches(":popover-open")) element.showPopover();
    draw(context.frame());
    place();
  }

  function hide() {
    clearTimeout(timer);
    if (!target) return;
    const inside = element.contains(document.activeElement);
    const cell = context.cell(target.row, target.position);
    target = null;
    sticky = false;
    if (inside && cell) cell.focus({ preventScroll: true });
    if (element.popover && element.matches(":popover-open")) element.hidePopover();
    element.hidden = true;
  }

  function togglePin() {
    const row = context.frame().rows[target.row];
    const where = { row: target.row, position: target.position };
    if (row.st[target.position] === "p") options.onUnpin && options.onUnpin(where);
    else options.onPin({ ...where, token: row.id[target.position] });
  }

  function draw(frame) {
    if (!target) return; // a pointer may be resting on a cell, about to open the card
    const row = frame && frame.rows[target.row];
    if (!row || target.position >= row.p.length) return hide();
    const position = target.position;
    element.setAttribute("aria-label", fillLabel(labels.card, { position }));
    setText(token, readablePiece(row.p[position], labels));
    token.classList.toggle("dlm-card-special", typeof row.p[position] === "number" || row.p[position] === "");
    const about = [labels["state_" + row.st[position]], fillLabel(labels.position, { position })];
    about.push(fillLabel(labels.token_id, { id: row.id[position] }));
    setText(facts, about.join(" · "));
    setText(values.confidence, row.c ? row.c[position] + " %" : "–");
    setText(values.entropy, entropyText(context, row, position));
    setText(values.settled, settledText(context, target.row, row, position));
    drawCandidateTitle(list.draw(target.row, position));
    drawPin(row, position);
  }

  function drawCandidateTitle(found) {
    if (!found) return setText(title, labels.candidates_none);
    const here = found.s === context.frame().s;
    setText(title, here ? labels.candidates : fillLabel(labels.candidates_at, { s: found.s }));
  }

  function drawPin(row, position) {
    const pinned = row.st[position] === "p";
    const usable = pinned ? options.onUnpin : options.onPin && row.st[position] !== "f" && row.p[position] !== MASK;
    setHidden(pin, !usable);
    setText(pinText, pinned ? labels.unpin : labels.pin);
    nameButton(pin, pinned ? labels.unpin : labels.pin);
  }

  function place() {
    const cell = target && context.cell(target.row, target.position);
    if (!cell) return;
    const box = cell.getClientRects()[0] || cell.getBoundingClientRect();
    placeCard(element, box);
  }

  element.addEventListener("pointerenter", () => clearTimeout(timer));
  element.addEventListener("pointerleave", () => leave());
  window.addEventListener("scroll", place, { passive: true, capture: true });
  window.addEventListener("resize", place);

  function leave() {
    clearTimeout(timer);
    if (!sticky) timer = setTimeout(hide, HOVER_CLOSE);
  }

  return {
    element,
    show,
    hide,
    draw,
    leave,
    hover(row, position) {
      if (sticky) return;
      clearTimeout(timer);
      timer = setTimeout(() => show(row, position, false), target ? 0 : HOVER_OPEN);
    },
    enter() {
      const first = [...element.querySelectorAll("button")].reverse().find((button) => button.offsetParent !== null);
      (element.querySelector("li:not([hidden]) > button") || first).focus();
    },
    isOpen: () => target !== null,
    isSticky: () => sticky,
    target: () => target,
    destroy() {
      clearTimeout(timer);
      window.removeEventListener("scroll", place, { capture: true });
      window.removeEventListener("resize", place);
    },
  };
}

function makeCandidates(context, parent, target) {
  const { labels, options } = context;
  const list = make("ol", "dlm-candidates", parent);
  const entries = Array.from({ length: CANDIDATES }, () => {
    const item = make("li", "", list);
    const row = make(options.onPin ? "button" : "div", "dlm-candidate", item);
    const entry = { item, row, id: 0, text: make("span", "dlm-candidate-text", row) };
    entry.bar = make("span", "dlm-candidate-bar", make("span", "dlm-candidate-track", row));
    entry.share = make("span", "dlm-candidate-share", row);
    if (options.onPin) {
      row.type = "button";
      row.addEventListener("click", () => options.onPin({ ...target(), token: entry.id }));
    }
    return entry;
  });

  function draw(rowIndex, position) {
    const found = lastCandidates(context.store.frames, context.view.index, rowIndex, position);
    entries.forEach((entry, place) => {
      const known = found && place * 2 < found.k.length;
      setHidden(entry.item, !known);
      if (!known) return;
      entry.id = found.k[place * 2];
      const share = found.k[place * 2 + 1] / 10;
      const text = readablePiece(context.store.piece(entry.id), labels);
      setText(entry.text, text);
      setText(entry.share, share < 0.1 ? "< 0.1 %" : share.toFixed(1) + " %");
      entry.bar.style.width = clamp(share, 0, 100) + "%";
      if (options.onPin) nameButton(entry.row, fillLabel(labels.pin_candidate, { token: text }));
    });
    return found;
  }
  return { draw };
}

/** A settled cell carries no candidates any more: show those of the last step that had some. */
function lastCandidates(frames, index, row, position) {
  for (let at = index; at >= 0; at--) {
    const all = frames[at].rows[row].k;
    if (all && Array.isArray(all[position]) && all[position].length) return { k: all[position], s: frames[at].s };
  }
  return null;
}

function entropyText(context, row, position) {
  if (!row.h) return "–";
  const max = context.store.maxEntropy();
  const value = (row.h[position] / 100).toFixed(2);
  return fillLabel(context.labels.entropy_value, { value, max: max ? max.toFixed(2) : "?" });
}

function settledText(context, rowIndex, row, position) {
  const { labels, store } = context;
  if (isGiven(row, position)) return labels.settled_given;
  // A draft may still change, whatever it has been up to now.
  if (row.st[position] !== "c" && !(store.end && store.end.status === "finished")) return labels.settled_never;
  const step = store.settled(rowIndex)[position];
  if (step === NOT_SETTLED) return labels.settled_never;
  if (step === SETTLED_BEFORE_FIRST) return labels.settled_unknown;
  return fillLabel(labels.settled_at, { s: step });
}

/** Below the cell where there is room, else above it, never outside the window; phones use a bottom sheet. */
function placeCard(card, cell) {
  const sheet = window.innerWidth <= 640;
  card.classList.toggle("dlm-sheet", sheet);
  if (sheet) {
    card.style.left = card.style.top = "";
    return;
  }
  const margin = 8;
  const width = card.offsetWidth;
  const height = card.offsetHeight;
  const below = cell.bottom + margin;
  const above = cell.top - margin - height;
  const top = below + height <= window.innerHeight - margin || above < margin ? below : above;
  card.style.left = clamp(cell.left, margin, Math.max(margin, window.innerWidth - width - margin)) + "px";
  card.style.top = clamp(top, margin, Math.max(margin, window.innerHeight - height - margin)) + "px";
}
