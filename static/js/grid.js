// A grid of boxes: one stop for Tab, arrows move between the cells, Home and End along a row.
"use strict";
for (const grid of document.querySelectorAll("[data-matrix]")) {
  const stops = row => [...row.querySelectorAll("a, input:not([type=hidden]), button")];
  const rows = () => [...grid.rows].map(stops).filter(row => row.length);
  grid.setAttribute("role", "grid");
  for (const cell of grid.querySelectorAll("td")) cell.setAttribute("role", "gridcell");
  const all = rows().flat();
  for (const stop of all) stop.tabIndex = -1;
  (grid.querySelector("tbody input:not([type=hidden])") || all[0]).tabIndex = 0;
  const go = stop => {
    if (!stop) return;
    for (const one of grid.querySelectorAll('[tabindex="0"]')) one.tabIndex = -1;
    stop.tabIndex = 0;
    stop.focus();
  };
  grid.addEventListener("focusin", event => {
    for (const one of grid.querySelectorAll('[tabindex="0"]')) one.tabIndex = -1;
    event.target.tabIndex = 0;
  });
  grid.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const lines = rows(), y = lines.findIndex(line => line.includes(event.target));
    if (y < 0) return;
    const x = lines[y].indexOf(event.target), writes = event.target.matches("input:not([type=checkbox])");
    const end = event.target.value?.length ?? 0, at = event.target.selectionStart;
    const beside = step => lines[y][Math.min(Math.max(x + step, 0), lines[y].length - 1)];
    // the same place counted from the right: what stands left of the boxes differs from row to row
    const above = step => lines[y + step]?.[Math.max(lines[y + step].length - (lines[y].length - x), 0)];
    const moves = {
      ArrowDown: () => above(1), ArrowUp: () => above(-1),
      ArrowRight: () => writes && at < end ? null : beside(1),
      ArrowLeft: () => writes && at > 0 ? null : beside(-1),
      Home: () => writes ? null : lines[y][0], End: () => writes ? null : lines[y].at(-1),
    };
    const next = moves[event.key]?.();
    if (next) { event.preventDefault(); go(next); }
  });
}
