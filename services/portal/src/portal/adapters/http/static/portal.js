// On every page: the time zone, in which the portal writes times, buttons that copy, the menu, and
// the end of what this browser keeps.

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "";
const secure = location.protocol === "https:" ? "; Secure" : "";
document.cookie = `zone=${encodeURIComponent(zone)}; Path=/; Max-Age=31536000; SameSite=Lax${secure}`;

function offerCopying(button) {
  const source = document.getElementById(button.dataset.copy);
  const label = button.textContent;
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(source);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = label; }, 2000);
  });
}

export function offerCopies(root) {
  if (navigator.clipboard) root.querySelectorAll("button[data-copy]").forEach(offerCopying);
}

offerCopies(document);

// On a phone the menu is a row that scrolls: it begins with the page that is open.
const menu = document.querySelector(".top nav ul");
const current = menu?.querySelector("[aria-current]");
if (current) menu.scrollLeft = current.offsetLeft - (menu.clientWidth - current.offsetWidth) / 2;

// The searches of this browser, which may be names of persons, end with the session.
export const SEARCHES = "searches";
document.querySelector('form[action="/sign-out"]')?.addEventListener("submit", () => {
  try { localStorage.removeItem(SEARCHES); } catch { /* Nothing is kept where nothing may be. */ }
});

// Menus close on Escape and outside clicks.
const menus = () => document.querySelectorAll("details.menu[open]");
document.addEventListener("click", ({ target }) => {
  for (const each of menus()) if (!each.contains(target)) each.open = false;
});
document.addEventListener("keydown", ({ key }) => {
  if (key !== "Escape") return;
  for (const each of menus()) {
    each.open = false;
    each.querySelector("summary").focus();
  }
});

for (const each of document.querySelectorAll("[data-print]")) {
  each.hidden = false;
  each.addEventListener("click", () => print());
}

// A region that does not scroll is no stop of the Tab key.
const fit = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const scrolls = target.scrollWidth > target.clientWidth || target.scrollHeight > target.clientHeight;
    target.tabIndex = scrolls ? 0 : -1;
  }
});
document.querySelectorAll('.scroll[tabindex="0"]').forEach((each) => fit.observe(each));
