"use strict";

const LONGEST_DIFF = 4e6; // cells of the table of common subsequences; beyond it the two texts just replace each other
const DIFF_CONTEXT = 16;

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
  return joinChanges(words);
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

/** Changes with only a space between them read better as one; of each, the old words come first. */
function joinChanges(words) {
  const joined = [];
  let change = { del: "", ins: "" };
  const flush = () => {
    for (const kind of ["del", "ins"]) if (change[kind]) joined.push({ kind, text: change[kind] });
    change = { del: "", ins: "" };
  };
  words.forEach(({ kind, text }, place) => {
    if (kind !== "same") {
      change[kind] += text;
      return;
    }
    const open = change.del || change.ins;
    const next = words[place + 1];
    if (open && next && next.kind !== "same" && !text.trim()) {
      change.del += text;
      change.ins += text;
      return;
    }
    flush();
    const last = joined[joined.length - 1];
    if (last && last.kind === "same") last.text += text;
    else joined.push(sameWord(text));
  });
  flush();
  return joined;
}

/** The changed parts with a few letters around them. */
function shortenDiff(parts) {
  return parts.map(({ kind, text }, place) => {
    if (kind !== "same") return { kind, text };
    const letters = [...text];
    const head = place > 0 ? letters.slice(0, DIFF_CONTEXT) : [];
    const tail = place < parts.length - 1 ? letters.slice(-DIFF_CONTEXT) : [];
    if (head.length + tail.length >= letters.length) return { kind, text };
    return { kind, text: head.join("") + "…" + tail.join("") };
  });
}
