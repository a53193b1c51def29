// Recent searches, kept by this browser and nowhere else: the session's cookie would send them with
// each request, has 4 KB with the key, and ends after half an hour without one; these outlast it
// until the reader signs out, clears them, or a month has passed. No replica has to know them.

import { SEARCHES } from "./portal.js";

const MOST = 8;
const KEPT = 30 * 24 * 60 * 60 * 1000;

// `who` is the signed-in reader: nobody sees the searches of another key of the same browser.
export function recent(who) {
  try {
    const kept = JSON.parse(localStorage.getItem(SEARCHES)) ?? {};
    if (kept.who !== who) return [];
    return kept.searches.filter(({ at, path }) => at > Date.now() - KEPT && path.startsWith("/"));
  } catch {
    return [];
  }
}

export function remember(who, label, path) {
  const others = recent(who).filter((each) =>
    each.path !== path && each.label.toLowerCase() !== label.toLowerCase());
  const searches = [{ label, path, at: Date.now() }, ...others].slice(0, MOST);
  try {
    localStorage.setItem(SEARCHES, JSON.stringify({ who, searches }));
  } catch { /* A browser that keeps nothing has no recent searches. */ }
}

const section = document.getElementById("recent");

function offer(who) {
  const examples = document.getElementById("examples");
  const found = recent(who);
  section.hidden = found.length === 0;
  examples.hidden = found.length > 0;
  section.querySelector("ul").replaceChildren(...found.map(({ label, path }) => {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = path;
    link.textContent = label;
    item.append(link);
    return item;
  }));
}

if (section) {
  const { who } = document.querySelector("form[data-who]").dataset;
  offer(who);
  // Also after a step back, when the browser shows the page as it was.
  addEventListener("pageshow", () => offer(who));
  section.querySelector("button").addEventListener("click", () => {
    localStorage.removeItem(SEARCHES);
    offer(who);
    document.getElementById("suggestions-status").textContent = "Recent searches are cleared";
    document.getElementById("q").focus();
  });
}
