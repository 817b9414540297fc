"use strict";

/** All points of the path, one below the other, with what was measured of them. A click goes to the point. */
function createBlendTable(labels, onChoose) {
  const element = make("details", "dlm-path");
  element.open = !window.matchMedia("(max-width: 640px)").matches;
  make("summary", "", element, labels.table);
  const table = make("table", "", make("div", "dlm-path-scroll", element));
  make("caption", "dlm-spoken", table, labels.table);
  const head = make("tr", "", make("thead", "", table));
  const body = make("tbody", "", table);
  const about = make("p", "dlm-about", element);
  make("p", "dlm-about dlm-perplexity", element, labels.about_perplexity);
  const columns = [
    ["way"], ["text"], ["to_a"], ["to_b"], ["edits_a"], ["edits_b"], ["perplexity"],
  ].map(([name]) => make("th", "dlm-" + name, head, labels[name]));
  columns.forEach((column) => (column.scope = "col"));
  const rows = [];

  function match(count) {
    while (rows.length < count) rows.push(makeRow(rows.length));
    while (rows.length > count) rows.pop().row.remove();
  }

  function makeRow(index) {
    const row = make("tr", "", body);
    const way = make("button", "dlm-way-point", make("th", "dlm-way", row));
    way.type = "button";
    way.parentNode.scope = "row";
    const cells = ["text", "to_a", "to_b", "edits_a", "edits_b", "perplexity"].map((name) => make("td", "dlm-" + name, row));
    row.addEventListener("click", () => {
      if (window.getSelection().isCollapsed) onChoose(index);
    });
    return { row, way, cells };
  }

  /** texts [P], weights [P], the point shown, and what was measured or null. */
  function draw(texts, weights, point, path) {
    match(texts.length);
    const alike = path && path.similarity[0];
    texts.forEach((text, index) => {
      const { row, way, cells } = rows[index];
      setText(way, Math.round(100 * weights[index]) + "%");
      const repeats = path && index > 0 && text === texts[index - 1];
      const shown = [
        repeats ? labels.same : text,
        alike ? likeness(alike.a[index]) : labels.unknown,
        alike ? likeness(alike.b[index]) : labels.unknown,
        path ? String(path.edits.a[index]) : labels.unknown,
        path ? String(path.edits.b[index]) : labels.unknown,
        path && path.perplexity && path.perplexity[index] !== null ? path.perplexity[index].toFixed(1) : labels.unknown,
      ];
      cells.forEach((cell, column) => setText(cell, shown[column]));
      cells[0].classList.toggle("dlm-same", Boolean(repeats));
      const here = index === point;
      row.classList.toggle("dlm-here", here);
      if (here) way.setAttribute("aria-current", "true");
      else way.removeAttribute("aria-current");
    });
    setText(about, alike ? fillLabel(labels.about, { name: alike.name }) : "");
  }

  return { element, draw };
}

// Rounded down, so that only the same words are 1.00.
function likeness(cosine) {
  return (Math.floor(100 * cosine + 0.001) / 100).toFixed(2);
}
