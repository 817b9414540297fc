"use strict";

/** A line for each item: what was asked for, and what was written. */
function createBatchTable(labels) {
  const element = make("div", "dlm-batch-scroll");
  const table = make("table", "dlm-batch-table", element);
  make("caption", "dlm-spoken", table, labels.table);
  const head = make("tr", "", make("thead", "", table));
  for (const name of ["place", "asked", "written"]) make("th", "", head, labels[name]).scope = "col";
  const body = make("tbody", "", table);
  let lines = [];

  function begin(items) {
    lines = items.map(({ place, asked, link }) => {
      const row = make("tr", "");
      const first = make("th", "", row, place);
      first.scope = "row";
      make("td", "dlm-batch-asked", row, asked || labels.nothing);
      const box = make("td", "dlm-batch-written", row);
      const text = make("p", "", box, labels.pending);
      const about = make("p", "dlm-batch-about", box);
      return { row, text, about, place, link, done: false };
    });
    body.replaceChildren(...lines.map(({ row }) => row));
  }

  /** The items that are being written now. */
  function work(indices) {
    const now = new Set(indices);
    lines.forEach((line, index) => {
      if (line.done) return;
      line.row.classList.toggle("dlm-batch-working", now.has(index));
      setText(line.text, now.has(index) ? labels.working : labels.pending);
    });
  }

  function fill({ index, text, more, tokens, perplexity, repetition, seed, marks, error }) {
    const line = lines[index];
    line.done = true;
    line.row.classList.remove("dlm-batch-working");
    line.row.classList.toggle("dlm-batch-failed", Boolean(error));
    setText(line.text, error || text || labels.empty);
    line.about.replaceChildren();
    if (error) return;
    const numbers = { tokens, perplexity: threeDigitsOrNothing(perplexity), repetition: repetition ? threeDigits(repetition) : null, seed };
    const known = Object.entries(numbers).filter(([, n]) => n !== null && n !== undefined);
    const said = known.map(([name, n]) => fillLabel(labels[name], { n }));
    if (more) said.push(fillLabel(labels.more, { n: more }));
    make("span", "", line.about, said.join(" · "));
    for (const mark of marks) make("span", "dlm-batch-mark", line.about, mark);
    if (!line.link) return;
    const link = make("a", "dlm-batch-watch", line.about, labels.watch);
    link.href = "?" + line.link;
    link.target = "_blank";
    link.rel = "noopener";
    link.setAttribute("aria-label", fillLabel(labels.watch_of, { place: line.place }));
  }

  /** No more will come. */
  function end() {
    for (const line of lines) {
      line.row.classList.remove("dlm-batch-working");
      if (!line.done) setText(line.text, labels.left_out);
    }
  }

  const threeDigitsOrNothing = (value) => (typeof value === "number" ? threeDigits(value) : null);

  return { element, begin, work, fill, end };
}
