// Says which events a webhook will receive, while its form is filled in. The portal writes the sentence.

const DELAY = 250;

const form = document.querySelector("form[data-arriving]");
const arrivals = document.getElementById("arrivals");

let timer;
let request;

async function ask() {
  request?.abort();
  request = new AbortController();
  try {
    const response = await fetch(form.dataset.arriving, {
      method: "POST",
      body: new URLSearchParams(new FormData(form)),
      headers: { Accept: "application/json" },
      signal: request.signal,
    });
    if (!response.ok || response.redirected) return;
    const sentence = await response.text();
    if (arrivals.textContent !== sentence) arrivals.textContent = sentence;
  } catch (error) {
    if (error.name !== "AbortError") document.getElementById("preview").hidden = false;
  }
}

document.getElementById("preview").hidden = true;
form.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(ask, DELAY);
});
// A browser that comes back to the page fills the form in again.
ask();
