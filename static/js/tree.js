// Trees and treegrids: one tab stop, arrows inside.  Without this they are lists of links.
"use strict";

const ITEMS = "[role=treeitem], tbody [role=row][aria-level]";

function items(tree) {
  return [...tree.querySelectorAll(ITEMS)].filter(item => item.checkVisibility());
}
function level(item) { return Number(item.getAttribute("aria-level")); }

// What an item unfolds may be on another page: then its twist is a link like any other.
function under(tree, item) { return tree.querySelectorAll(`[data-under="${item.id}"]`); }
function unfoldsHere(tree, item) {
  return item.querySelector(":scope > [role=group]") || !item.id || under(tree, item).length > 0;
}

function toggle(tree, item, open) {
  if (!unfoldsHere(tree, item)) { item.querySelector("a.twist")?.click(); return; }
  item.setAttribute("aria-expanded", open);
  const group = item.querySelector(":scope > [role=group]");
  if (group) {
    group.hidden = !open;
    if (open) item.querySelector(".twist")?.dispatchEvent(new Event("unfold", { bubbles: true }));
  } else {
    for (const row of under(tree, item)) row.hidden = !open;
    const twist = item.querySelector("button.twist");
    if (twist) twist.setAttribute("aria-expanded", open);
  }
}

// One item can be reached with Tab; links inside it are reached with the arrows and Enter.
function ready(tree) {
  for (const item of tree.querySelectorAll(ITEMS)) {
    if (!item.hasAttribute("tabindex")) item.tabIndex = -1;
    if (item.matches("[role=treeitem]")) for (const link of item.querySelectorAll(":scope > .t-row a")) link.tabIndex = -1;
  }
  if (!tree.querySelector('[tabindex="0"]:is(' + ITEMS + ")")) {
    const first = tree.querySelector('[role=treeitem][aria-selected="true"]') || items(tree)[0];
    if (first) first.tabIndex = 0;
  }
}

function move(tree, from, to) {
  for (const item of [from, ...tree.querySelectorAll('[tabindex="0"]:is(' + ITEMS + ")")]) if (item) item.tabIndex = -1;
  to.tabIndex = 0;
  to.focus();
}

function goal(tree, item, key) {
  const all = items(tree), at = all.indexOf(item), open = item.getAttribute("aria-expanded");
  const steps = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 };
  if (key in steps) return all[steps[key]];
  if (key === "ArrowRight") {
    if (open === "false") toggle(tree, item, true);
    else if (open) return all[at + 1];
    return null;
  }
  if (key === "ArrowLeft") {
    if (open === "true") { toggle(tree, item, false); return null; }
    return all.findLast((other, i) => i < at && level(other) < level(item));
  }
  const later = [...all.slice(at + 1), ...all.slice(0, at + 1)];
  return later.find(other => other.querySelector(".t-row > a:not(.twist), .lead b")?.textContent.trim().toLowerCase().startsWith(key.toLowerCase()));
}

for (const tree of document.querySelectorAll("[role=tree], [role=treegrid]")) {
  ready(tree);
  let before = null;
  tree.addEventListener("htmx:beforeRequest", event => {
    const more = event.target.matches("[data-more]") && event.target.closest("[role=treeitem]");
    before = more ? more.previousElementSibling : null;
  });
  tree.addEventListener("htmx:afterSettle", () => {
    ready(tree);
    const next = before?.nextElementSibling;
    before = null;
    if (next) move(tree, document.activeElement.closest(ITEMS), next);
  });
  tree.addEventListener("click", event => {
    const item = event.target.closest(".twist")?.closest("[aria-expanded]");
    if (!item || !item.matches(ITEMS) || !unfoldsHere(tree, item)) return;
    event.preventDefault();
    toggle(tree, item, item.getAttribute("aria-expanded") !== "true");
  });
  tree.addEventListener("keydown", event => {
    const item = event.target;
    if (!item.matches(ITEMS) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter") { item.querySelector(".t-row > a:not(.twist), .lead a")?.click(); return; }
    const arrow = ["ArrowDown", "ArrowUp", "ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key);
    if (!arrow && (event.key.length !== 1 || !/[\p{L}\p{N}]/u.test(event.key))) return;
    const to = goal(tree, item, event.key);
    if (arrow || to) { event.preventDefault(); event.stopPropagation(); }
    if (!to) return;
    move(tree, item, to);
  });
}
