// What takes its time says so: a part that is asked for is marked busy, and after two seconds the page counts.
// Without this the browser's own sign has to do.
"use strict";

const working = document.querySelector("[data-working]"), PATIENCE = 2, LONGEST = 60;
let ticking = 0;

function done() {
  clearInterval(ticking);
  working.replaceChildren();
}

function wait() {
  done();
  let seconds = 0;
  ticking = setInterval(() => {
    seconds += 1;
    if (seconds > LONGEST) { done(); return; }
    if (seconds < PATIENCE) return;
    if (!working.firstChild) working.append(working.dataset.working, document.createElement("span"));
    working.lastChild.ariaHidden = true; // the words are said once, not each second
    working.lastChild.textContent = ` ${seconds} s`;
  }, 1000);
}

// A file comes without the page going, so nothing would tell when it is there.
const isFile = address => /\.csv(\?|$)|evidence/.test(address);

function leaving(event, address) {
  const there = new URL(address, location.href);
  const stays = there.origin !== location.origin || isFile(there.href) || (there.hash && there.pathname === location.pathname);
  setTimeout(() => { if (!event.defaultPrevented && !stays) wait(); }); // another listener may still stop it
}

document.addEventListener("submit", event => {
  const form = event.target;
  if (form.method !== "dialog" && !form.hasAttribute("hx-post")) leaving(event, form.getAttribute("action") || location.href);
});
document.addEventListener("click", event => {
  const link = event.target.closest("a[href]");
  if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey && !link.target) leaving(event, link.href);
});
addEventListener("pageshow", done);

// What asks again and again by itself is no wait, but for a search that goes on.
const byItself = part => /^(every|load)/.test(part.getAttribute("hx-trigger") ?? "") && !part.hasAttribute("data-searches");

document.addEventListener("htmx:beforeRequest", event => {
  if (byItself(event.detail.elt)) return;
  event.detail.target.setAttribute("aria-busy", true);
  wait();
});
document.addEventListener("htmx:afterRequest", event => {
  if (byItself(event.detail.elt)) return;
  event.detail.target.removeAttribute("aria-busy");
  done();
});
document.addEventListener("htmx:sendError", event => {
  if (!byItself(event.detail.elt)) working.append(working.dataset.failed);
});
