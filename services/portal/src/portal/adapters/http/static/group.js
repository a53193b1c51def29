// The picture of a group begins at the company itself, also after its size has changed.

const picture = document.querySelector(".picture");

function center() {
  const frame = picture.getBoundingClientRect();
  const box = picture.querySelector(".box-self").getBoundingClientRect();
  picture.scrollLeft += box.left + box.width / 2 - frame.left - frame.width / 2;
  picture.scrollTop += box.top + box.height / 2 - frame.top - frame.height / 2;
}

if (picture) {
  center();
  document.querySelector(".zooms").addEventListener("change", center);
}
