// On every page: times in the reader's time zone, and buttons that copy.

const format = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

export function localise(root) {
  for (const time of root.querySelectorAll("time[data-local]")) {
    const moment = new Date(time.dateTime);
    if (!Number.isNaN(moment.valueOf())) {
      time.title = time.textContent;
      time.textContent = format.format(moment);
      delete time.dataset.local;
    }
  }
}

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

localise(document);
if (navigator.clipboard) {
  document.querySelectorAll("button[data-copy]").forEach(offerCopying);
}
