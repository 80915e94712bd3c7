// Deciding rows by keyboard: j and k go from row to row, 1 to 4 choose, s goes to the button; nothing here submits.
"use strict";

for (const form of document.querySelectorAll("[data-review]")) {
  const rows = [...form.querySelectorAll("[data-row]")];
  const said = form.querySelector("[data-ready]"), submit = form.querySelector("[data-submit]");
  const chosenAtFirst = form.querySelectorAll("[data-row] [type=radio]:checked").length;
  const elsewhere = said ? Math.max(0, Number(said.dataset.elsewhere)) : 0;
  const first = new Map(rows.map(row => [row, row.querySelector("[type=radio]:checked")?.value]));
  const ready = new Set();
  let at = -1;

  function go(to) {
    if (!rows[to]) return;
    rows[at]?.classList.remove("picked");
    at = to;
    rows[at].classList.add("picked");
    const radio = rows[at].querySelector("[type=radio]:checked") ?? rows[at].querySelector("[type=radio]");
    radio?.focus({ preventScroll: true });
    rows[at].scrollIntoView({ block: "nearest" });
  }

  function tell() {
    if (!said || !submit) return;
    const counted = new Map();
    for (const row of ready) {
      const word = row.querySelector("[type=radio]:checked")?.parentElement.textContent.trim().replace("…", "").toLowerCase();
      if (word) counted.set(word, (counted.get(word) ?? 0) + 1);
    }
    const many = elsewhere + ready.size, words = said.dataset;
    const what = many === 1 ? words.one : words.many.replace("{number}", many);
    const kinds = [...counted].map(([word, number]) => `${number} ${word}`).join(", ");
    const strong = document.createElement("strong");
    strong.textContent = what;
    const [before, after] = (kinds ? words.kinds : words.plain).split("{what}");
    said.replaceChildren(before, strong, after.replace("{kinds}", () => kinds));
    submit.textContent = submit.dataset.submit.replace("{what}", what);
  }

  // what the choice needs besides, and what it does, comes from the server; keeping needs nothing
  function foretell(row, radio) {
    const more = row.querySelector(".rv-more"), needless = ["keep", "unsure"].includes(radio.value);
    if (needless && form.dataset.always === undefined) { more.replaceChildren(); return; }
    const asked = new URLSearchParams({ [radio.name]: radio.value });
    window.htmx?.ajax("GET", `${form.dataset.review}/${row.dataset.row}/more?${asked}`, { target: more, swap: "innerHTML" });
  }

  form.addEventListener("change", event => {
    const row = event.target.closest("[data-row]");
    if (!row || !event.target.matches("[type=radio]")) return;
    foretell(row, event.target);
    if (first.get(row) === event.target.value) ready.delete(row); else ready.add(row);
    tell();
  });
  form.addEventListener("focusin", event => {
    const row = event.target.closest("[data-row]");
    if (row && rows.indexOf(row) !== at) { rows[at]?.classList.remove("picked"); at = rows.indexOf(row); row.classList.add("picked"); }
  });
  // before the browser's own keys: an arrow or a letter on a radio button would choose
  document.addEventListener("keydown", event => {
    if (document.body.dataset.keys === "off" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (typing(event.target) || document.querySelector("dialog:modal")) return;
    if (event.key === "j") { event.preventDefault(); go(Math.min(at + 1, rows.length - 1)); }
    else if (event.key === "k") { event.preventDefault(); go(Math.max(at - 1, 0)); }
    else if (event.key === "s" && submit) { event.preventDefault(); submit.focus(); }
    else if (/^[1-4]$/.test(event.key) && rows[at]) {
      const radio = rows[at].querySelector(`[data-key="${event.key}"]`);
      if (radio) { event.preventDefault(); radio.focus({ preventScroll: true }); if (!radio.checked) radio.click(); }
    }
  });
}
