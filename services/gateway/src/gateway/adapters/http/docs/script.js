// Sends what a form holds and shows the command, the status, the headers and the body.
"use strict";

const shown = ["content-type", "etag", "ratelimit-policy", "ratelimit", "retry-after", "x-request-id"];

function address(form) {
  const query = new URLSearchParams();
  for (const field of form.querySelectorAll("input, select")) {
    const value = field.multiple
      ? Array.from(field.selectedOptions, (option) => option.value).join(",")
      : field.value.trim();
    if (value) query.append(field.name, value);
  }
  // Beside this page, so that it works behind any prefix of a proxy.
  return new URL(`.${form.dataset.path}?${query}`, document.baseURI);
}

function command(url, key) {
  const header = key ? " -H 'Authorization: Bearer …'" : "";
  return `curl -s${header} '${url.href.replaceAll("'", "%27")}'`;
}

function readable(text, type) {
  return type.includes("json") ? JSON.stringify(JSON.parse(text), null, 2) : text;
}

async function send(form) {
  const key = document.getElementById("key").value.trim();
  const url = address(form);
  const curl = form.querySelector(".curl");
  const result = form.querySelector(".result");
  curl.hidden = result.hidden = false;
  curl.textContent = command(url, key);
  result.textContent = "…";
  try {
    const answer = await fetch(url, { headers: key ? { Authorization: `Bearer ${key}` } : {} });
    const lines = shown
      .filter((name) => answer.headers.has(name))
      .map((name) => `${name}: ${answer.headers.get(name)}`);
    const body = readable(await answer.text(), answer.headers.get("content-type") ?? "");
    result.textContent = `${answer.status}\n${lines.join("\n")}\n\n${body}`;
  } catch (error) {
    result.textContent = `No answer: ${error.message}`;
  }
}

for (const form of document.querySelectorAll("form[data-path]")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(form);
  });
}
