// Comboboxes: a field with data-combo finds while one types; arrows choose, Enter takes, Esc closes the list.
// Without this the field takes a name as it is typed, or its form shows who matches.
"use strict";

let combos = 0;

function makeCombo(field) {
  const box = document.createElement("div"), list = document.createElement("div"), said = document.createElement("p");
  const adds = field.dataset.adds; // the button that takes one more; without it the field takes the name
  let pause = 0, running = null;
  box.className = "options combo";
  box.hidden = true;
  list.role = "listbox";
  list.id = `combo-${++combos}`;
  list.ariaLabel = `${field.labels?.[0]?.textContent.trim() || field.ariaLabel}:`;
  said.role = "status";
  box.append(list, said);
  field.after(box);
  field.removeAttribute("list");
  field.autocomplete = "off";
  field.role = "combobox";
  field.ariaExpanded = false;
  field.ariaAutoComplete = "list";
  field.setAttribute("aria-controls", list.id);

  const options = () => [...list.children], chosen = () => list.querySelector('[aria-selected="true"]');
  const filters = field.type === "search"; // any text will do there; elsewhere it is to be the name of something

  // What Enter takes: the option that is chosen; in a field for a name the first, unless a whole name was typed.
  function meant() {
    const typed = field.value.trim().toLowerCase();
    const whole = options().some(({ dataset: { value } }) => value.toLowerCase().split("/").includes(typed) || value.toLowerCase() === typed);
    return chosen() ?? (filters || whole || stale ? null : options()[0]);
  }

  function choose(option) {
    for (const one of options()) one.ariaSelected = one === option;
    if (option) { field.setAttribute("aria-activedescendant", option.id); option.scrollIntoView({ block: "nearest" }); }
    else field.removeAttribute("aria-activedescendant");
  }
  function close() {
    clearTimeout(pause);
    running?.abort();
    box.hidden = true;
    field.ariaExpanded = false;
    field.removeAttribute("aria-activedescendant");
  }
  function show() {
    box.hidden = false;
    box.style.top = `${field.offsetTop + field.offsetHeight + 4}px`;
    box.style.insetInlineStart = document.dir === "rtl" ? "0" : `${field.offsetLeft}px`;
    box.style.minWidth = `${Math.min(field.offsetWidth, 440)}px`;
    field.ariaExpanded = options().length > 0;
  }
  // The names that are shown are those of another text until the next answer: Enter takes none of them unseen.
  let stale = false;
  async function seek() {
    running?.abort();
    running = new AbortController();
    const address = new URL(field.dataset.combo, location.href);
    address.searchParams.set(field.dataset.asks ?? "q", field.value.trim());
    for (const token of adds ? field.parentElement.querySelectorAll("input[type=hidden]") : []) address.searchParams.append(token.name, token.value);
    const beside = field.form?.elements[field.dataset.beside]; // what else of the form decides who is offered
    if (beside?.value) address.searchParams.set(beside.name, beside.value);
    try {
      const answer = await fetch(address, { signal: running.signal, headers: { "HX-Request": "true" } });
      if (!answer.ok) { close(); return; }
      const read = document.createElement("template");
      read.innerHTML = await answer.text();
      said.textContent = read.content.querySelector("p")?.textContent.trim() ?? "";
      stale = false;
      list.replaceChildren(...read.content.querySelectorAll("[role=option]"));
      options().forEach((option, at) => { option.id = `${list.id}-${at}`; });
      said.className = options().length ? "sr" : "";
      if (document.activeElement !== field || (!options().length && !said.textContent)) { close(); return; }
      show();
      choose(adds ? options()[0] : undefined);
    } catch (problem) {
      if (problem.name !== "AbortError") close();
    }
  }
  function take(option) {
    close();
    if (!adds) {
      field.value = option.dataset.value;
      field.dispatchEvent(new Event("change", { bubbles: true }));
      if (!("looks" in field.dataset)) return; // what may be chosen next depends on it
    }
    const button = document.createElement("button");
    const [name, value] = adds ? [adds, option.dataset.value] : ["step", "look"];
    Object.assign(button, { type: "submit", name, value, hidden: true });
    button.dataset.again = "";
    field.form.append(button);
    button.click();
    button.remove();
  }

  field.addEventListener("input", () => {
    clearTimeout(pause);
    running?.abort();
    stale = true;
    choose();
    if (field.value.trim()) pause = setTimeout(seek, 120);
    else close();
  });
  field.addEventListener("keydown", event => {
    const all = options(), open = !box.hidden, at = all.indexOf(chosen());
    if (event.key === "Escape" && open) { event.preventDefault(); event.stopPropagation(); close(); }
    else if (event.key === "Enter" && open && meant()) { event.preventDefault(); take(meant()); }
    else if (event.key === "ArrowDown" && !open) { event.preventDefault(); seek(); }
    else if (open && all.length && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? at + 1 : at < 0 ? all.length - 1 : at - 1;
      choose(all[(step + all.length) % all.length]);
    }
  });
  field.addEventListener("blur", close);
  box.addEventListener("pointerdown", event => event.preventDefault()); // the field keeps the focus
  box.addEventListener("click", event => {
    const option = event.target.closest("[role=option]");
    if (option) take(option);
  });
}

const makeCombos = within => {
  for (const field of within.querySelectorAll("[data-combo]:not([role=combobox])")) makeCombo(field);
};
makeCombos(document);
document.addEventListener("htmx:afterSettle", event => makeCombos(event.detail.elt));
