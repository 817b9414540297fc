"use strict";

// The history is a tree of documents, each grown from the one that was edited: {nodes, current}, the nodes in the order
// in which they came. A node is {id, parent, document, fresh, label, seed, time, recent}: `fresh` are the cells the
// model wrote, `recent` the continuation that redo leads to.

const HISTORY_LIMIT = 200;

function emptyTree() {
  return { nodes: [], current: null };
}

function findNode(tree, id) {
  return tree.nodes.find((node) => node.id === id) || null;
}

const currentNode = (tree) => findNode(tree, tree.current);
const continuations = (tree, id) => tree.nodes.filter((node) => node.parent === id);

/** The node and all it came from, newest first. */
function pathTo(tree, id) {
  const path = [];
  for (let node = findNode(tree, id); node; node = findNode(tree, node.parent)) path.push(node);
  return path;
}

function addNode(tree, { document, fresh = [], label, seed = null, time = Date.now() }) {
  const id = tree.nodes.reduce((highest, node) => Math.max(highest, node.id), 0) + 1;
  tree.nodes.push({ id, parent: tree.current, document, fresh, label, seed, time, recent: null });
  visitNode(tree, id);
  while (tree.nodes.length > HISTORY_LIMIT) dropOldest(tree);
}

/** Make a node the current one; redo will lead back to where it was left. */
function visitNode(tree, id) {
  const path = pathTo(tree, id);
  path.slice(1).forEach((node, place) => (node.recent = path[place].id));
  tree.current = id;
}

function undoTarget(tree) {
  const node = currentNode(tree);
  return node && node.parent;
}

function redoTarget(tree) {
  const node = currentNode(tree);
  const next = node ? continuations(tree, node.id) : [];
  if (!next.length) return null;
  return (next.find(({ id }) => id === node.recent) || next[next.length - 1]).id;
}

/** Drop the oldest leaf of the other branches; returns whether there was one. */
function dropOldestLeaf(tree) {
  const path = new Set(pathTo(tree, tree.current));
  const parents = new Set(tree.nodes.map((node) => node.parent));
  const place = tree.nodes.findIndex((node) => !path.has(node) && !parents.has(node.id));
  if (place >= 0) tree.nodes.splice(place, 1);
  return place >= 0;
}

// Without other branches the tree is one line back to its root, and the root goes.
function dropOldest(tree) {
  if (dropOldestLeaf(tree)) return;
  const [root] = tree.nodes.splice(0, 1);
  for (const node of continuations(tree, root.id)) node.parent = null;
}

/** Take in the versions of another tree that grew from the same beginnings, as after edits in another tab. */
function mergeTree(tree, other) {
  const made = (node) => node.time + " " + node.document.ids.join(); // ids are each tab's own
  const same = new Map(tree.nodes.map((node) => [made(node), node.id]));
  const ids = new Map([[null, null]]);
  let next = tree.nodes.concat(other.nodes).reduce((highest, { id }) => Math.max(highest, id), 0);
  const added = other.nodes.filter((node) => {
    const known = same.get(made(node));
    ids.set(node.id, known === undefined ? ++next : known);
    return known === undefined;
  });
  const at = (id) => (ids.has(id) ? ids.get(id) : null);
  for (const node of added) tree.nodes.push({ ...node, id: at(node.id), parent: at(node.parent), recent: at(node.recent) });
  while (tree.nodes.length > HISTORY_LIMIT && dropOldestLeaf(tree));
}

/** The tree as it was written, or null if this is anything else. */
function readTree(saved) {
  if (!saved || typeof saved !== "object" || !Array.isArray(saved.nodes)) return null;
  const known = new Set();
  for (const node of saved.nodes) {
    // A parent comes before its continuations, so there are no circles.
    if (!isNode(node) || known.has(node.id) || !(node.parent === null || known.has(node.parent))) return null;
    known.add(node.id);
  }
  const isWhole = saved.nodes.length <= HISTORY_LIMIT && (saved.nodes.length ? known.has(saved.current) : saved.current === null);
  return isWhole ? { nodes: saved.nodes, current: saved.current } : null;
}

function isNode(node) {
  if (!node || !Number.isSafeInteger(node.id) || typeof node.label !== "string" || !Number.isFinite(node.time)) return false;
  const isSeed = node.seed === null || Number.isFinite(node.seed);
  const { fresh } = node;
  return isSeed && isDocument(node.document) && Array.isArray(fresh) && fresh.every(Number.isInteger);
}
