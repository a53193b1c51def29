// The list while its filters change: the portal's page is read again, and its list takes the place
// of the old one. Without this script the form and the links lead to the same pages.

const DELAY = 400;

let form = document.getElementById("filters");
const list = document.getElementById("list");

let request;
let timer;
let edits = 0;

function address() {
  const fields = [...new FormData(form)].filter(([, value]) => value.trim());
  const query = new URLSearchParams(fields).toString();
  return query ? `${form.action}?${query}` : form.action;
}

async function show(url, { isNew = true, moves = false } = {}) {
  clearTimeout(timer);
  request?.abort();
  request = new AbortController();
  const before = edits;
  list.setAttribute("aria-busy", "true");
  let page;
  try {
    const response = await fetch(url, { signal: request.signal });
    if (response.redirected) return location.assign(url);
    page = new DOMParser().parseFromString(await response.text(), "text/html");
  } catch (error) {
    return error.name === "AbortError" ? undefined : location.assign(url);
  }
  const found = page.getElementById("list");
  if (!found) return location.assign(url);
  if (isNew) history.pushState(null, "", url);
  document.title = page.title;
  list.replaceChildren(...found.childNodes);
  list.removeAttribute("aria-busy");
  // A letter that was typed meanwhile stays, and is asked about in its turn.
  if (edits === before) fill(page.getElementById("filters"));
  const total = document.getElementById("total");
  const wrong = form.querySelector("[aria-invalid]");
  if (moves) (wrong ?? total)?.focus();
  else document.getElementById("said").textContent = total?.textContent ?? "";
}

function fill(fresh) {
  const { id, selectionStart } = document.activeElement ?? {};
  const isOpen = document.getElementById("more").open;
  form.replaceWith(fresh);
  form = fresh;
  document.getElementById("more").open ||= isOpen;
  const focused = id && form.querySelector(`#${CSS.escape(id)}`);
  if (!focused) return;
  focused.focus();
  if (selectionStart != null && focused.type === "text") focused.setSelectionRange(selectionStart, selectionStart);
}

document.addEventListener("input", (event) => {
  if (!form.contains(event.target)) return;
  edits += 1;
  clearTimeout(timer);
  timer = setTimeout(() => show(address()), DELAY);
});
document.addEventListener("submit", (event) => {
  if (event.target !== form) return;
  event.preventDefault();
  show(address(), { moves: true });
});
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-list]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  show(link.href, { moves: true });
});
addEventListener("popstate", () => show(location.href, { isNew: false }));
