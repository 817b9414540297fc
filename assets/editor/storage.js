"use strict";

const HISTORY_FORMAT = "diffusion-lm-playground/history";
const HISTORY_VERSION = 1;

/** Keeps the tree in localStorage under a key. Storage may be blocked, full, or hold what others wrote. */
function createShelf(key) {
  return {
    load() {
      try {
        const saved = key && JSON.parse(window.localStorage.getItem(key));
        const ours = saved && saved.format === HISTORY_FORMAT && saved.version === HISTORY_VERSION;
        return ours ? readTree(saved) : null;
      } catch (error) {
        return null;
      }
    },
    /** "kept", "dropped" if the oldest leaves had to go for it, or "lost". */
    save(tree) {
      if (!key) return "kept";
      const lean = { nodes: [...tree.nodes], current: tree.current };
      let outcome = "kept";
      for (;;) {
        try {
          window.localStorage.setItem(key, writeTree(lean));
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
