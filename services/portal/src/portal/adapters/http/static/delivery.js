// The result of an attempt as it comes: the page is read again until it no longer says to.

import { offerCopies } from "./portal.js";

const DELAY = 1000;

const progress = document.getElementById("progress");
const result = document.getElementById("result");

async function refresh() {
  let page;
  try {
    const response = await fetch(result.dataset.refresh, { redirect: "error" });
    page = new DOMParser().parseFromString(await response.text(), "text/html");
  } catch {
    return progress.replaceChildren("The result cannot be read. Reload the page.");
  }
  const found = page.getElementById("result");
  if (!found) return location.reload();
  const focused = document.activeElement?.id;
  document.title = page.title;
  result.replaceChildren(...found.childNodes);
  offerCopies(result);
  if (focused) document.getElementById(focused)?.focus();
  const said = page.getElementById("progress");
  if (progress.textContent !== said.textContent) progress.textContent = said.textContent;
  progress.className = said.className;
  result.dataset.refresh = found.dataset.refresh ?? "";
  wait();
}

function wait() {
  if (result.dataset.refresh) setTimeout(refresh, DELAY);
}

wait();
