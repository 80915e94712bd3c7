// Dates beside a field: a button puts one into it, another opens the browser's own calendar over it.
// Without this the dates are links, or one types.
"use strict";

function setDate(field, value) {
  field.value = field.type === "date" ? value.slice(0, 10) : value;
  for (const name of ["input", "change"]) field.dispatchEvent(new Event(name, { bubbles: true }));
}

document.addEventListener("click", event => {
  const preset = event.target.closest("[data-sets]"), calendar = event.target.closest("[data-calendar]");
  if (preset) setDate(document.getElementById(preset.dataset.sets), preset.dataset.value);
  if (!calendar) return;
  const field = document.getElementById(calendar.dataset.calendar), picker = document.createElement("input");
  picker.type = "date";
  picker.className = "picker";
  picker.tabIndex = -1;
  picker.ariaLabel = calendar.textContent.trim();
  if (/^\d{4}-\d\d-\d\d/.test(field.value)) picker.value = field.value.slice(0, 10);
  picker.addEventListener("change", () => { setDate(field, picker.value); picker.remove(); field.focus(); });
  picker.addEventListener("blur", () => picker.remove());
  calendar.after(picker);
  picker.focus();
  picker.showPicker();
});
