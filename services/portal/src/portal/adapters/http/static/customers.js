// A file is dropped, and rows are decided by keys. Both work without this script, by buttons.

const drop = document.getElementById("drop");
const decide = document.getElementById("decide");

if (drop) {
  const file = document.getElementById("file");
  drop.querySelector(".drop-hint").hidden = false;
  for (const name of ["dragenter", "dragover"]) {
    drop.addEventListener(name, (event) => {
      event.preventDefault();
      drop.classList.add("over");
    });
  }
  for (const name of ["dragleave", "drop"]) {
    drop.addEventListener(name, () => drop.classList.remove("over"));
  }
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    if (event.dataTransfer.files.length) file.files = event.dataTransfer.files;
  });
}

if (decide) {
  const keys = document.querySelector(".keys");
  if (keys) keys.hidden = false;
  let isSent = false;
  decide.addEventListener("submit", (event) => {
    // A key that is held down decides one row, not the next one too.
    if (isSent) event.preventDefault();
    isSent = true;
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (event.target.matches("input, textarea, select")) return;
    const value = event.key === "0" ? "none" : /^[1-5]$/.test(event.key) ? String(event.key - 1) : null;
    const button = value && decide.querySelector(`button[value="${value}"]`);
    if (button) decide.requestSubmit(button);
  });
}
