"use strict";

const HISTORY_FORMAT = "diffusion-lm-playground/history";
const HISTORY_VERSION = 1;

/** Keeps the tree in localStorage under a key. Storage may be blocked, full, or hold what others wrote. */
function createShelf(key) {
  let written = null; // what this tab has read or written last

  function read() {
    try {
      const text = key && window.localStorage.getItem(key);
      const saved = JSON.parse(text);
      const ours = saved && saved.format === HISTORY_FORMAT && saved.version === HISTORY_VERSION;
      return ours ? { text, tree: readTree(saved) } : null;
    } catch (error) {
      return null;
    }
  }

  return {
    load() {
      const found = read();
      written = found && found.text;
      return found && found.tree;
    },
    /** "kept", "dropped" if the oldest leaves had to go for it, or "lost". What another tab has saved in the meantime
        is taken in. */
    save(tree) {
      if (!key) return "kept";
      const found = read();
      if (found && found.tree && found.text !== written) mergeTree(tree, found.tree);
      const lean = { nodes: [...tree.nodes], current: tree.current };
      let outcome = "kept";
      for (;;) {
        try {
          written = writeTree(lean);
          window.localStorage.setItem(key, written);
          tree.nodes = lean.nodes;
          return outcome;
        } catch (error) {
          if (!isQuota(error) || !dropOldestLeaf(lean)) return "lost";
          outcome = "dropped";
        }
      }
    },
  };
}

function writeTree({ nodes, current }) {
  return JSON.stringify({ format: HISTORY_FORMAT, version: HISTORY_VERSION, current, nodes });
}

function isQuota(error) {
  return Boolean(error) && /quota/i.test(error.name);
}
