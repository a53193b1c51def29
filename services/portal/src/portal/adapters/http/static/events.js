// The feed as it happens: each server-sent event is a part of the page, rendered by the portal.

const MOST = 200;

const events = document.getElementById("events");
const waiting = document.getElementById("waiting");
const state = document.getElementById("live-state");
const pause = document.getElementById("pause");

let held = [];
let isPaused = false;

function say(text, isOff) {
  state.textContent = text;
  state.classList.toggle("off", isOff);
}

function add(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  const item = template.content.querySelector("li");
  if (!item || document.getElementById(item.id)) return;
  item.classList.add("fresh");
  waiting.hidden = true;
  events.prepend(item);
  while (events.children.length > MOST) events.lastElementChild.remove();
}

function follow() {
  const source = new EventSource(events.dataset.live);
  source.addEventListener("open", () => { if (!isPaused) say("Live", false); });
  source.addEventListener("message", (event) => {
    const html = JSON.parse(event.data);
    if (isPaused) {
      held.push(html);
      say(`Paused, ${held.length} waiting`, true);
    } else {
      add(html);
    }
  });
  source.addEventListener("end", () => {
    source.close();
    say("Not live: reload the page", true);
  });
  source.addEventListener("error", () => {
    const isOver = source.readyState === EventSource.CLOSED;
    say(isOver ? "Not live: reload the page, or close other live pages" : "Connecting …", true);
  });
}

pause.addEventListener("click", () => {
  isPaused = !isPaused;
  pause.textContent = isPaused ? "Resume" : "Pause";
  pause.setAttribute("aria-pressed", String(isPaused));
  say(isPaused ? "Paused" : "Live", isPaused);
  if (!isPaused) {
    held.forEach(add);
    held = [];
  }
});

// A page in the middle of the feed is read page by page; the newest one goes on by itself.
if (!("more" in events.dataset)) {
  state.hidden = false;
  pause.hidden = false;
  document.getElementById("newer").hidden = true;
  say("Connecting …", true);
  follow();
}
