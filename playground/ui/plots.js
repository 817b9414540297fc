// Gradio draws a figure anew at each update, and the window's listener for a new size keeps every old one. Plotly.purge
// would take a figure apart that may still be drawing; without the listener the browser lets it go.
new MutationObserver((changes) => {
  for (const { removedNodes } of changes) {
    for (const node of removedNodes) {
      if (node.nodeType !== Node.ELEMENT_NODE) continue;
      const plots = node.matches(".js-plotly-plot") ? [node] : node.querySelectorAll(".js-plotly-plot");
      for (const plot of plots) if (!plot.isConnected) removeEventListener("resize", plot._responsiveChartHandler);
    }
  }
}).observe(document, { childList: true, subtree: true });
