// Suggestions under the search box: a combobox with a list box, as WAI-ARIA describes it.

import { remember } from "./recent.js";

const DELAY = 150;
const FAULT = "Suggestions cannot be shown at the moment.";

const form = document.querySelector("form[data-suggest]");
const input = form.querySelector("#q");
const country = form.querySelector("#country");
const list = form.querySelector("#suggestions");
const status = form.querySelector("#suggestions-status");

let timer;
let request;
let chosen = -1;

input.setAttribute("role", "combobox");
input.setAttribute("aria-autocomplete", "list");
input.setAttribute("aria-expanded", "false");
input.setAttribute("aria-controls", list.id);

function close() {
  request?.abort();
  clearTimeout(timer);
  list.hidden = true;
  chosen = -1;
  input.setAttribute("aria-expanded", "false");
  input.removeAttribute("aria-activedescendant");
}

function option(suggestion, index) {
  const item = document.createElement("li");
  item.id = `suggestion-${index}`;
  item.role = "option";
  item.ariaSelected = "false";
  item.dataset.path = suggestion.path;
  const name = document.createElement("strong");
  name.textContent = suggestion.name;
  const about = document.createElement("span");
  const words = [suggestion.vat, suggestion.city, suggestion.country];
  if (suggestion.matched_name) words.push(`as “${suggestion.matched_name}”`);
  if (suggestion.status !== "active") words.push(suggestion.status.replaceAll("_", " "));
  about.textContent = words.filter(Boolean).join(", ");
  item.append(name, " ", about);
  return item;
}

// A register that could not be searched may have the company: an empty list would say it has not.
function failed(fault) {
  const item = document.createElement("li");
  item.role = "option";
  item.ariaDisabled = "true";
  item.className = "fault";
  item.textContent = fault;
  return item;
}

function show(suggestions, fault) {
  list.replaceChildren(...suggestions.map(option), ...(fault ? [failed(fault)] : []));
  chosen = -1;
  input.removeAttribute("aria-activedescendant");
  list.hidden = list.children.length === 0;
  input.setAttribute("aria-expanded", String(!list.hidden));
  const count = suggestions.length;
  const words = count ? `${count} ${count === 1 ? "suggestion" : "suggestions"}` : "No suggestions";
  status.textContent = fault ? (count ? `${words}. ${fault}` : fault) : words;
}

async function ask() {
  const text = input.value.trim();
  // Numbers are looked up when they are complete.
  if (text.length < 2 || !/\p{L}/u.test(text)) return close();
  request?.abort();
  request = new AbortController();
  const query = new URLSearchParams({ q: text, country: country.value });
  try {
    const response = await fetch(`${form.dataset.suggest}?${query}`, {
      signal: request.signal,
      headers: { Accept: "application/json" },
    });
    if (response.status === 401) return close();
    const { suggestions, fault } = response.ok ? await response.json() : { suggestions: [], fault: FAULT };
    show(suggestions, fault);
  } catch (error) {
    if (error.name !== "AbortError") show([], FAULT);
  }
}

function choose(index) {
  const options = [...list.querySelectorAll("[data-path]")];
  if (options.length === 0) return;
  chosen = (index + options.length) % options.length;
  options.forEach((item, place) => { item.ariaSelected = String(place === chosen); });
  options[chosen].scrollIntoView({ block: "nearest" });
  input.setAttribute("aria-activedescendant", options[chosen].id);
}

function visit(item) {
  remember(form.dataset.who, item.querySelector("strong").textContent, item.dataset.path);
  location.assign(item.dataset.path);
}

form.addEventListener("submit", () => {
  const text = input.value.trim();
  const query = new URLSearchParams({ q: text, ...(country.value && { country: country.value }) });
  const where = country.value ? `, ${country.selectedOptions[0].text}` : "";
  if (text) remember(form.dataset.who, text + where, `/?${query}`);
});

input.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(ask, DELAY);
});

input.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !list.hidden) {
    event.preventDefault();
    close();
  } else if (list.hidden) {
    if (event.key === "ArrowDown") ask();
  } else if (event.key === "ArrowDown") {
    event.preventDefault();
    choose(chosen + 1);
  } else if (event.key === "ArrowUp") {
    event.preventDefault();
    choose(chosen < 0 ? -1 : chosen - 1);
  } else if (event.key === "Enter" && chosen >= 0) {
    event.preventDefault();
    visit(list.querySelectorAll("[data-path]")[chosen]);
  }
});

list.addEventListener("mousedown", (event) => event.preventDefault());
list.addEventListener("click", (event) => {
  const item = event.target.closest("[data-path]");
  if (item) visit(item);
});
input.addEventListener("blur", close);
country.addEventListener("change", close);
