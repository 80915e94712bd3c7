// The palette: finds while one types; arrows choose, Enter goes, Esc gives the focus back.
// Without this the field in the bar leads to the search page.
"use strict";

const palette = document.getElementById("palette");

if (palette) {
  const field = palette.querySelector("input"), list = palette.querySelector("[role=listbox]");
  const status = palette.querySelector("[data-said]"), options = () => [...list.querySelectorAll("[role=option]")];
  let asked = null, shown = null, waiting = Promise.resolve(), pause = 0, running = null;

  // A list that comes late must not take the place of one asked for after it.
  async function seek(text) {
    running?.abort();
    running = new AbortController();
    asked = text;
    try {
      const answer = await fetch(`${palette.dataset.found}?${new URLSearchParams({ q: text })}`, { signal: running.signal, headers: { "HX-Request": "true" } });
      if (!answer.ok) throw new Error(String(answer.status));
      list.innerHTML = await answer.text();
      shown = text;
      status.textContent = options().length ? "" : palette.dataset.nothing.replace("{text}", () => text);
      choose(options()[0]);
    } catch (problem) {
      if (problem.name === "AbortError") return;
      list.replaceChildren();
      shown = null;
      status.textContent = palette.dataset.failed;
    }
  }

  function choose(option) {
    for (const one of options()) one.setAttribute("aria-selected", one === option);
    field.setAttribute("aria-expanded", options().length > 0);
    if (option) { field.setAttribute("aria-activedescendant", option.id); option.scrollIntoView({ block: "nearest" }); }
    else field.removeAttribute("aria-activedescendant");
  }

  function chosen() { return list.querySelector('[aria-selected="true"]'); }

  field.addEventListener("input", () => {
    clearTimeout(pause);
    pause = setTimeout(() => { waiting = seek(field.value.trim()); }, 80);
  });
  field.addEventListener("keydown", event => {
    const all = options(), at = all.indexOf(chosen());
    const step = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + 5, PageUp: at - 5 }[event.key];
    if (step === undefined || !all.length) return;
    event.preventDefault();
    const far = Math.abs(step - at) > 1;
    choose(all[far ? Math.min(Math.max(step, 0), all.length - 1) : (step + all.length) % all.length]);
  });
  // Enter means what stands in the field now, even when its list is still on the way.
  palette.querySelector("form").addEventListener("submit", async event => {
    event.preventDefault();
    clearTimeout(pause);
    const text = field.value.trim();
    if (shown !== text) await (asked === text ? waiting : seek(text));
    if (shown === text && chosen()) chosen().click();
    else event.target.submit();
  });
  palette.addEventListener("click", event => { if (event.target === palette) palette.close(); });
  new MutationObserver(() => {
    if (!palette.open) return;
    field.focus();
    field.select();
    if (shown !== field.value.trim()) waiting = seek(field.value.trim());
  }).observe(palette, { attributeFilter: ["open"] });
  document.querySelector("[data-find]")?.addEventListener("pointerdown", event => {
    if (event.button === 0) { event.preventDefault(); palette.showModal(); }
  });
}
