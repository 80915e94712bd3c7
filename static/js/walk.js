// Walking a list by keys: j and k go to the next and the previous row, x ticks it.  The row's link takes the focus.
"use strict";

for (const list of document.querySelectorAll("[data-walk]")) {
  const rows = [...list.querySelectorAll("[data-step]")];
  const here = () => rows.findIndex(row => row.contains(document.activeElement));
  function go(by) {
    const at = here(), next = at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(Math.max(at + by, 0), rows.length - 1);
    rows[next]?.querySelector(".acts a, .acts button, a")?.focus();
  }
  document.addEventListener("keydown", event => {
    if (document.body.dataset.keys === "off" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (typing(event.target) || document.querySelector("dialog:modal")) return;
    if (event.key === "j") { event.preventDefault(); go(1); }
    else if (event.key === "k") { event.preventDefault(); go(-1); }
    else if (event.key === "x" && here() >= 0) rows[here()].querySelector("input[name=on]:not(:disabled)")?.click();
  });
}

// A page among others of its list: j leads to the next, k to the previous one.
document.addEventListener("keydown", event => {
  const there = document.querySelector(`[data-turn] [data-key="${CSS.escape(event.key)}"]`);
  if (!there || document.body.dataset.keys === "off" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (typing(event.target) || document.querySelector("dialog:modal")) return;
  event.preventDefault();
  there.click();
});
