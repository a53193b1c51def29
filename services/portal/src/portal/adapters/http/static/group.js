// The picture of a group begins at the company itself, also after its size has changed.

const picture = document.querySelector(".picture");

function center() {
  const frame = picture.getBoundingClientRect();
  const box = picture.querySelector(".box-self").getBoundingClientRect();
  picture.scrollLeft += box.left + box.width / 2 - frame.left - frame.width / 2;
  picture.scrollTop += box.top + box.height / 2 - frame.top - frame.height / 2;
}

// The lines of the box under the pointer, or with the focus, stand out of the others.
function mark(event) {
  const box = event.target.closest("[data-id]");
  for (const line of picture.querySelectorAll(".link")) {
    line.classList.toggle("near", !!box && line.dataset.ends.split(" ").includes(box.dataset.id));
  }
}

if (picture) {
  center();
  picture.addEventListener("pointerover", mark);
  picture.addEventListener("focusin", mark);
  document.querySelector(".zooms").addEventListener("change", center);
}
