"use strict";

// Plain functions that turn a trace into the text of a file.

const CSV_COLUMNS = "step,row,position,token_id,token,state,confidence,entropy";
const CSV_STATES = { n: "noise", d: "draft", c: "committed", f: "fixed", p: "pinned" };
const CSV_SPECIALS = ["[padding]", "[start]", "[end]", "[mask]", "[bytes]"];

function traceCsv(trace) {
  const lines = [CSV_COLUMNS];
  for (const frame of trace.frames) {
    frame.rows.forEach((row, rowIndex) => {
      row.p.forEach((piece, position) => {
        lines.push(csvLine(frame, row, rowIndex, piece, position));
      });
    });
  }
  return lines.join("\r\n") + "\r\n";
}

// Every text is quoted, so that commas, quotes and line breaks of a token stay inside its field.
function csvLine(frame, row, rowIndex, piece, position) {
  const token = typeof piece === "string" ? piece : CSV_SPECIALS[piece];
  const confidence = row.c ? row.c[position] : "";
  const entropy = row.h ? (row.h[position] / 100).toFixed(2) : "";
  const state = CSV_STATES[row.st[position]] || "";
  return [frame.s, rowIndex, position, row.id[position], quoteCsv(token), quoteCsv(state), confidence, entropy].join(",");
}

function quoteCsv(text) {
  return '"' + String(text).replace(/"/g, '""') + '"';
}

// Inside a script element only these can end or confuse it; as JSON escapes they mean the same.
function scriptJson(value) {
  return JSON.stringify(value)
    .replace(/</g, "\\u003c")
    .replace(/\u2028/g, "\\u2028")
    .replace(/\u2029/g, "\\u2029");
}

function escapeHtml(text) {
  const names = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return text.replace(/[&<>"]/g, (character) => names[character]);
}

/** One HTML file that plays the trace with this same player and never touches the network. */
function standalonePage(trace, source, labels, language) {
  const parts = {
    language: escapeHtml(language || "en"),
    title: escapeHtml(labels.page_title),
    css: source.css.replace(/<(?=\/style)/gi, "\\3c "),
    data: scriptJson({ trace, labels }),
    js: source.js.replace(/<(?=\/script)/gi, "\\x3c").replace(/<(?=!--)/g, "\\x3c"),
    start: "startStandalonePage(document)",
  };
  return PAGE_TEMPLATE.replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);
}

/** Entry point of a standalone page; it passes on its own source, so the page can export itself again. */
function startStandalonePage(page) {
  const { trace, labels } = JSON.parse(page.getElementById("dlm-data").textContent);
  const source = {
    js: page.getElementById("dlm-player-source").textContent,
    css: page.getElementById("dlm-player-style").textContent,
  };
  const player = createPlayer(page.getElementById("dlm-root"), { css: source.css, source, labels, theme: "auto", autoplay: true });
  player.load(trace);
  window.dlmPlayer = player;
}

function saveFile(name, type, content) {
  const blob = content instanceof Blob ? content : new Blob([content], { type });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function fileStem(head) {
  const model = (head && head.model && head.model.name) || "run";
  const seed = head && head.rows && head.rows[0] ? "-seed" + head.rows[0].seed : "";
  return (model + seed).replace(/[^\w.-]+/g, "-");
}
