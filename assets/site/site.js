"use strict";

// A static site's index, and what is around the player on its pages. What a trace says is drawn with textContent (see
// make in player/dom.js), never as HTML.

/** The index: {sections: [{title, runs: [{href, title, about, text}]}]}. */
function startIndex(page) {
  const { sections } = JSON.parse(page.getElementById("dlm-data").textContent);
  const root = page.getElementById("dlm-root");
  root.className = "site";
  make("h1", "", root, "Diffusion LM Playground");
  make("p", "site-lead", root, "Text that resolves out of noise, step by step. These runs were recorded; open one, " +
    "play it, scrub through it, and click a word to see what else it could have been.");
  for (const { title, runs } of sections) {
    make("h2", "", root, title);
    const list = make("ul", "site-runs", root);
    for (const run of runs) addRun(run, list);
  }
}

function addRun(run, list) {
  const link = make("a", "", make("li", "", list));
  link.href = run.href;
  make("strong", "", link, run.title);
  make("span", "site-text", link, run.text);
  make("span", "site-about", link, run.about);
}

/** A run's page: a way back above the player, the recipe below it. */
function startRunPage(page) {
  const { css, title, about, recipe } = JSON.parse(page.getElementById("dlm-data").textContent).site;
  const root = page.getElementById("dlm-root");
  injectStyle(css, "site");
  const header = make("header", "site");
  const back = make("a", "site-back", header, "All runs");
  back.href = "index.html";
  make("h1", "", header, title);
  make("p", "site-about", header, about);
  root.prepend(header);
  const details = make("details", "site", root);
  make("summary", "", details, "Recipe");
  const table = make("dl", "site-recipe", details);
  for (const [name, value] of recipe) {
    make("dt", "", table, name);
    make("dd", "", table, value);
  }
}
