"use strict";

// Each tab has an address: its name after the #, so that a reload, Back and a link lead to it.
(() => {
  const buttons = () => [...document.querySelectorAll("#tabs > .tab-wrapper [role=tab]")];
  const nameOf = (button) => button.textContent.trim().toLowerCase();
  const wanted = () => location.hash.slice(1).toLowerCase();
  const isOpen = (button) => button.getAttribute("aria-selected") === "true";

  function open() {
    const found = buttons();
    const button = found.find((each) => nameOf(each) === wanted()) || (location.hash ? null : found[0]);
    if (button && !isOpen(button)) button.click();
    return found.length > 0;
  }

  document.addEventListener("click", (event) => {
    const button = event.target instanceof Element && event.target.closest("[role=tab]");
    if (!event.isTrusted || !button || !buttons().includes(button) || nameOf(button) === wanted()) return;
    history.pushState(history.state, "", location.pathname + location.search + "#" + nameOf(button)); // the page has a base
  }, true);
  window.addEventListener("popstate", open);
  window.addEventListener("hashchange", open);

  const opening = setInterval(() => open() && clearInterval(opening), 50);
})();
