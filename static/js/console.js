// The little the console does by script.  Every page works without it; a data- attribute asks for each piece.
"use strict";
document.documentElement.classList.add("js");

const typing = target => target.matches("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]");

// Theme: shown at once, kept by the server in a cookie so that the next page comes in it.
for (const form of document.querySelectorAll("[data-theme-form]")) {
  form.querySelector("button").hidden = true;
  form.addEventListener("change", event => {
    const theme = event.target.value;
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
    fetch(form.action, { method: "POST", body: new FormData(form), redirect: "manual" });
  });
}

for (const form of document.querySelectorAll("[data-theme-switch]")) {
  form.addEventListener("submit", event => {
    event.preventDefault();
    const told = new FormData(form), theme = event.submitter.value;
    told.set("theme", theme);
    document.documentElement.dataset.theme = theme;
    for (const input of document.querySelectorAll("[data-theme-form] [name=theme]")) input.checked = input.value === theme;
    form.querySelector(theme === "dark" ? ".to-light" : ".to-dark").focus();
    fetch(form.action, { method: "POST", body: told, redirect: "manual" });
  });
}

// A link that also says something to its form's address: it is sent while the link is followed.
for (const link of document.querySelectorAll("a[data-sends]")) {
  link.addEventListener("click", () => {
    const told = new FormData(link.closest("form"));
    told.set("do", link.dataset.sends);
    fetch(link.closest("form").action, { method: "POST", body: told, redirect: "manual", keepalive: true });
  });
}

// Dialogs and menus: the browser keeps the focus inside a dialog and gives it back.
// A link that opens an empty dialog has its page's form put there; without scripts it is followed.
const dialogFor = id => document.getElementById(id);
async function open(dialog, opener) {
  if (dialog.id === "layer" && window.htmx) {
    opener.setAttribute("aria-busy", true);
    await htmx.ajax("GET", opener.href, { target: dialog, swap: "innerHTML" });
    opener.removeAttribute("aria-busy");
  }
  dialog.showModal();
  dialog.querySelector("[autofocus]")?.focus();
  for (const input of dialog.querySelectorAll("[type=radio]:checked")) shown(input);
}
document.addEventListener("click", event => {
  const opener = event.target.closest("[data-opens]");
  const dialog = opener && dialogFor(opener.dataset.opens);
  if (dialog && !event.ctrlKey && !event.metaKey && !event.shiftKey) { event.preventDefault(); open(dialog, opener); }
  const closer = event.target.closest("[data-closes]");
  const layer = closer?.closest("dialog:modal");
  if (layer) { event.preventDefault(); if (mayClose(layer)) layer.close(); }
  for (const menu of document.querySelectorAll("[data-menu][open]")) if (!menu.contains(event.target)) menu.open = false;
});
// What was typed into a dialog is asked about before it goes.
function mayClose(dialog) {
  const typed = [...changed].filter(form => dialog.contains(form));
  const begun = typed.length || "begun" in dialog.dataset;
  if (begun && !confirm(document.body.dataset.leaving)) return false;
  for (const form of typed) changed.delete(form);
  delete dialog.dataset.begun;
  return true;
}
document.addEventListener("cancel", event => {
  if (event.target.matches("dialog") && !mayClose(event.target)) event.preventDefault();
}, true);
// A browser lets `cancel` be prevented once and then closes all the same: Esc is asked about before it gets there.
document.addEventListener("keydown", event => {
  const layer = event.key === "Escape" && !event.defaultPrevented && [...document.querySelectorAll("dialog:modal")].at(-1);
  if (!layer) return;
  event.preventDefault();
  if (mayClose(layer)) layer.close();
});
document.addEventListener("keydown", event => {
  const menu = event.key === "Escape" && document.querySelector("[data-menu][open]");
  if (menu) { menu.open = false; menu.querySelector("summary").focus(); }
});

// Keys: Ctrl K always; single letters outside fields, unless switched off.
let going = 0;
document.addEventListener("keydown", event => {
  const palette = dialogFor("palette");
  if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    if (palette && !palette.open) palette.showModal();
    return;
  }
  if (document.body.dataset.keys === "off" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (typing(event.target) || document.querySelector("dialog:modal")) return;
  if (event.key === "/") { event.preventDefault(); palette?.showModal(); }
  else if (event.key === "?") { dialogFor("keys")?.showModal(); }
  else if (event.key === "g") { going = Date.now(); }
  else if (Date.now() - going < 1500) {
    const there = document.querySelector(`[data-go="${CSS.escape(event.key)}"]`);
    going = 0;
    if (there) { event.preventDefault(); there.click(); }
  }
});

// Toast: goes after ten seconds, waits while pointed at or focused.
for (const toast of document.querySelectorAll("[data-toast]")) {
  const close = toast.querySelector("[data-toast-close]");
  let left = 10;
  close.hidden = false;
  close.addEventListener("click", () => toast.remove());
  const tick = setInterval(() => {
    if (!toast.isConnected) clearInterval(tick);
    else if (!toast.matches(":hover, :focus-within") && --left <= 0) toast.remove();
  }, 1000);
}

// Forms: sent once; a changed one asks before it is left.
const sent = new WeakSet(), changed = new Set();
document.addEventListener("input", event => {
  const form = event.target.form;
  if (form?.matches("[data-once]")) changed.add(form);
});
document.addEventListener("submit", event => {
  const form = event.target, again = event.submitter?.matches("[data-again]");
  if (!form.matches("[data-once]")) return;
  if (sent.has(form) && !again) { event.preventDefault(); return; }
  if (!again) sent.add(form);
  changed.delete(form);
  // what was chosen comes back in a new form of the same dialog
  const layer = form.closest("dialog");
  if (layer && again) layer.dataset.begun = "";
});
// What a form comes back with is where one goes on, wherever on the page it stands.
document.querySelector('main [aria-invalid="true"]')?.focus();
addEventListener("pageshow", event => { if (event.persisted) location.reload(); });
addEventListener("beforeunload", event => {
  if ([...changed].some(form => form.isConnected && !form.closest("dialog:not([open])"))) event.preventDefault();
});

// Radio buttons that open a part of the form: <input data-shows="id">.
function shown(input) {
  for (const other of input.form?.querySelectorAll(`[name="${input.name}"][data-shows]`) ?? []) {
    input.form.querySelector(`#${other.dataset.shows}`).hidden = !other.checked;
  }
}
document.addEventListener("change", event => { if (event.target.matches("[type=radio]")) shown(event.target); });
for (const input of document.querySelectorAll("[type=radio]:checked")) shown(input);

// What a part of a page brings in is made ready as the page itself was.
document.addEventListener("htmx:afterSettle", event => {
  for (const input of event.detail.elt.querySelectorAll("[type=radio]:checked")) shown(input);
});
