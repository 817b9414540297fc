"use strict";

/** The texts as small multiples: a line for each cell of the grid, a column for each seed. */
function createCompareTable(labels, onOpen) {
  const element = make("div", "dlm-grid-scroll");
  const table = make("table", "dlm-grid", element);
  make("caption", "dlm-spoken", table, labels.table);
  const head = make("tr", "", make("thead", "", table));
  const body = make("tbody", "", table);
  let lines = [];

  /** A new comparison: its cells' places and its seeds. */
  function begin(cells, seeds) {
    head.replaceChildren();
    body.replaceChildren();
    table.classList.toggle("dlm-grid-wide", cells.some(({ place }) => place.split(" ").some((word) => word.length > 11)));
    make("td", "", head);
    for (const seed of seeds) make("th", "", head, fillLabel(labels.seed, { seed })).scope = "col";
    lines = cells.map((cell, index) => makeLine(cell, index, seeds));
  }

  function makeLine(cell, index, seeds) {
    const row = make("tr", cell.baseline ? "dlm-grid-baseline" : "", body);
    const place = make("th", "", row, cell.place);
    place.scope = "row";
    const boxes = seeds.map((seed, column) => {
      const box = make("td", "", row);
      const button = make("button", "dlm-grid-text", box, labels.pending);
      button.type = "button";
      button.disabled = true;
      button.setAttribute("aria-label", fillLabel(labels.text_of, { place: cell.place, seed: fillLabel(labels.seed, { seed }) }));
      button.addEventListener("click", () => onOpen(index, column));
      return { button, figures: make("span", "dlm-grid-figures", box) };
    });
    return { row, boxes };
  }

  /** The texts of a cell that is being run. */
  function draft(index, texts) {
    const line = lines[index];
    line.row.classList.add("dlm-grid-draft");
    line.boxes.forEach(({ button }, column) => setText(button, texts[column] || labels.pending));
  }

  /** A finished cell: what was measured of each of its texts. */
  function fill(index, rows) {
    const line = lines[index];
    line.row.classList.remove("dlm-grid-draft");
    line.boxes.forEach(({ button, figures }, column) => {
      const { text, perplexity, entropy } = rows[column];
      setText(button, text || labels.empty);
      button.disabled = false;
      const shown = [[labels.perplexity, perplexity], [labels.entropy, entropy]];
      setText(figures, shown.filter(([, value]) => typeof value === "number").map(([name, value]) => name + " " + threeDigits(value)).join(" · "));
    });
  }

  function fail(index, message) {
    lines[index].row.classList.remove("dlm-grid-draft");
    lines[index].boxes.forEach(({ figures }) => setText(figures, fillLabel(labels.cell_failed, { message })));
  }

  function mark(index, column) {
    lines.forEach(({ boxes }, i) => boxes.forEach(({ button }, j) => {
      if (i === index && j === column) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    }));
  }

  return { element, begin, draft, fill, fail, mark };
}
