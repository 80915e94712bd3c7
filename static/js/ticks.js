// Ticking rows: all of a page at once, a range with Shift; how many are ticked is said.  Without this they are boxes.
"use strict";

for (const form of document.querySelectorAll("[data-ticks]")) {
  const boxes = [...form.querySelectorAll("tbody .tick input:not(:disabled)")];
  const all = form.querySelector("[data-tick-all]"), count = form.querySelector("[data-tick-count]");
  let last = null;
  function tell() {
    const many = boxes.filter(box => box.checked).length;
    if (count) count.textContent = many ? count.dataset.tickCount.replace("{number}", many) : "";
    if (all) { all.checked = many === boxes.length; all.indeterminate = many > 0 && many < boxes.length; }
  }
  if (all && boxes.length) {
    all.hidden = false;
    all.addEventListener("change", () => { for (const box of boxes) box.checked = all.checked; tell(); });
  }
  form.addEventListener("click", event => {
    const at = boxes.indexOf(event.target);
    if (at < 0) return;
    if (event.shiftKey && last !== null) {
      for (let i = Math.min(at, last); i <= Math.max(at, last); i++) boxes[i].checked = event.target.checked;
    }
    last = at;
    tell();
  });
  tell();
}
