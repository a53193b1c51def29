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
