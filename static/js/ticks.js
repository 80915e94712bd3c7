// Ticking rows: all of a page or a group at once, a range with Shift; how many are ticked is said.  Without this they are boxes.
"use strict";

for (const form of document.querySelectorAll("[data-ticks]")) {
  const boxes = [...form.querySelectorAll("tbody .tick input:not(:disabled, [data-tick-group])")];
  const all = form.querySelector("[data-tick-all]"), count = form.querySelector("[data-tick-count]");
  const groups = [...form.querySelectorAll("[data-tick-group]")].map(
    group => [group, boxes.filter(box => box.closest("tbody") === group.closest("tbody"))]);
  let last = null;
  function mark(whole, parts) {
    const many = parts.filter(box => box.checked).length;
    whole.checked = many === parts.length;
    whole.indeterminate = many > 0 && many < parts.length;
  }
  function tell() {
    const many = boxes.filter(box => box.checked).length;
    if (count) count.textContent = many ? count.dataset.tickCount.replace("{number}", many) : "";
    for (const [whole, parts] of all ? [[all, boxes], ...groups] : groups) mark(whole, parts);
  }
  if (all && boxes.length) {
    all.hidden = false;
    all.addEventListener("change", () => { for (const box of boxes) box.checked = all.checked; tell(); });
  }
  for (const [group, parts] of groups.filter(([, parts]) => parts.length)) {
    group.hidden = false;
    group.addEventListener("change", () => { for (const box of parts) box.checked = group.checked; tell(); });
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
