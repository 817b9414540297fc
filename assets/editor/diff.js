"use strict";

const LONGEST_DIFF = 4e6; // cells of the table of common subsequences; beyond it the two texts just replace each other
const DIFF_CONTEXT = 20;
const LONGEST_CHANGE = 60;
const LONGEST_ISLAND = 6; // letters

/** What turns one text into another, as [{kind: "same" | "del" | "ins", text}], word by word. */
function wordDiff(before, after) {
  const a = segments(before, "word").map(([start, end]) => before.slice(start, end));
  const b = segments(after, "word").map(([start, end]) => after.slice(start, end));
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < Math.min(a.length, b.length) - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const middle = commonWords(a.slice(head, a.length - tail), b.slice(head, b.length - tail));
  const words = [...a.slice(0, head).map(sameWord), ...middle, ...a.slice(a.length - tail).map(sameWord)];
  return joinChanges(withoutIslands(words));
}

const sameWord = (text) => ({ kind: "same", text });

/** The longest common subsequence of two lists of words, and what is only in one of them. */
function commonWords(a, b) {
  const removed = a.map((text) => ({ kind: "del", text }));
  const added = b.map((text) => ({ kind: "ins", text }));
  if (!a.length || !b.length || a.length * b.length > LONGEST_DIFF) return [...removed, ...added];
  const width = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const skip = Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
      lengths[i * width + j] = a[i] === b[j] ? lengths[(i + 1) * width + j + 1] + 1 : skip;
    }
  }
  const words = [];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) {
      words.push(sameWord(a[i]));
      i++;
      j++;
    } else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) {
      words.push(removed[i++]);
    } else {
      words.push(added[j++]);
    }
  }
  return [...words, ...removed.slice(i), ...added.slice(j)];
}

/** The little that two texts share between two changes reads better as part of both: spaces, a short word. */
function withoutIslands(words) {
  const result = [];
  for (let place = 0; place < words.length; ) {
    let end = place;
    while (end < words.length && words[end].kind === "same") end++;
    const shared = words.slice(place, end);
    const text = shared.map((word) => word.text).join("");
    const isIsland = place > 0 && place < end && end < words.length && text.trim().length <= LONGEST_ISLAND;
    if (isIsland) result.push({ kind: "del", text }, { kind: "ins", text });
    else result.push(...shared);
    if (end < words.length) result.push(words[end]);
    place = end + 1;
  }
  return result;
}

/** Changes that follow each other, as one; of each, the old words come first. */
function joinChanges(words) {
  const joined = [];
  let change = { del: "", ins: "" };
  const same = (text) => {
    const last = joined[joined.length - 1];
    if (last && last.kind === "same") last.text += text;
    else if (text) joined.push(sameWord(text));
  };
  const flush = () => {
    const [before, after] = change.del && change.ins ? commonSpaces(change.del, change.ins) : ["", ""];
    same(before);
    for (const kind of ["del", "ins"]) {
      const text = change[kind].slice(before.length, change[kind].length - after.length);
      if (text) joined.push({ kind, text });
    }
    same(after);
    change = { del: "", ins: "" };
  };
  for (const { kind, text } of words) {
    if (kind === "same") {
      flush();
      same(text);
    } else {
      change[kind] += text;
    }
  }
  flush();
  return joined;
}

/** The spaces that two texts begin with and those that they end with. */
function commonSpaces(a, b) {
  const [start] = a.match(/^\s*/);
  const before = b.startsWith(start) ? start : "";
  const [end] = a.slice(before.length).match(/\s*$/);
  return [before, b.slice(before.length).endsWith(end) ? end : ""];
}

/** Whether a text is the other one changed, and not a text of its own: half of what it says is the same. */
function isRelated(parts) {
  const letters = (kinds) => parts.filter(({ kind }) => kinds.includes(kind)).reduce((sum, { text }) => sum + text.trim().length, 0);
  return letters(["same"]) * 2 > letters(["same", "ins"]);
}

/** The changed parts with a few words around them. */
function shortenDiff(parts) {
  return parts.map(({ kind, text }, place) => {
    if (kind !== "same") return { kind, text: shortenText(text, LONGEST_CHANGE, DIFF_CONTEXT) };
    return { kind, text: shortenText(text, place > 0 ? DIFF_CONTEXT : 0, place < parts.length - 1 ? DIFF_CONTEXT : 0) };
  });
}

/** The first and the last letters of a text, cut between words where there are some. */
function shortenText(text, head, tail) {
  const letters = [...text];
  if (letters.length <= head + tail) return text;
  const start = letters.slice(0, head).join("").replace(/(\s)\S*$/, "$1");
  const end = tail ? letters.slice(-tail).join("").replace(/^\S*(\s)/, "$1") : "";
  return start + "…" + end;
}
