// The form that asks others to sign: their places are chosen on the drawn page.
import { placing } from "./place.js";

document.documentElement.classList.add("js");
const form = document.querySelector("#invite-form");
const input = form.elements.inputDocuments;
const { draw } = placing(form, {
  pdf: () => [...input.files].find((f) => /\.pdf$/i.test(f.name) || f.type === "application/pdf"),
  chosen: (row) => row.querySelector("details").setAttribute("open", ""),
});
input.addEventListener("change", () => draw(1));
if (input.files.length) draw(1);
