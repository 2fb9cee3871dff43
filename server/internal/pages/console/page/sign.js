// The form that signs: files are dropped and listed, the page is drawn, and sending shows
// how far it is. Everything works without this module, but for dragging.
import { placing } from "./place.js";

const form = document.querySelector("#sign");
const input = form.elements.inputDocuments;
const list = form.querySelector("#files");
const drop = form.querySelector("#drop");
const progress = form.querySelector("#progress");
const send = form.querySelector("#send");
document.documentElement.classList.add("js");
form.querySelector("#exact").open = false; // boxes are dragged

const page = (html) => new DOMParser().parseFromString(html, "text/html");
const lang = document.documentElement.lang;
const bytes = (n) => {
  const [value, unit] = n < 1e3 ? [n, "byte"] : n < 1e6 ? [n / 1e3, "kilobyte"] : [n / 1e6, "megabyte"];
  return new Intl.NumberFormat(lang, { style: "unit", unit, maximumFractionDigits: unit === "megabyte" ? 1 : 0 }).format(value);
};

// What went wrong stands at the top of the page, as the server would say it.
function say(text, code) {
  document.querySelector("#problem")?.remove();
  if (!text) return;
  const box = document.createElement("div");
  box.id = "problem";
  box.className = "alert";
  box.setAttribute("role", "alert");
  if (code) box.dataset.code = code;
  const p = document.createElement("p");
  p.textContent = text;
  box.append(p);
  form.before(box);
  box.tabIndex = -1;
  box.focus();
}

// mend puts a field as the server shows it into the place of an old one.
function mend(old, answer) {
  const fresh = answer.querySelector("#" + old.querySelector("input").id)?.closest(".field");
  if (!fresh) return null;
  old.replaceWith(document.adoptNode(fresh));
  return fresh.querySelector("input");
}

function show() {
  list.replaceChildren();
  const files = [...input.files];
  for (const [i, file] of files.entries()) {
    const li = document.createElement("li");
    const name = document.createElement("span");
    name.textContent = `${file.name} · ${bytes(file.size)}`;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet";
    button.textContent = form.dataset.remove;
    button.setAttribute("aria-label", `${form.dataset.remove}: ${file.name}`);
    button.addEventListener("click", () => { put(files.filter((_, k) => k !== i)); input.focus(); });
    li.append(name, button);
    list.append(li);
  }
  list.hidden = files.length === 0;
  form.classList.toggle("one", files.length === 1);
  const all = files.reduce((sum, f) => sum + f.size, 0);
  const large = files.some((f) => f.size > Number(form.dataset.document)) || all > Number(form.dataset.body);
  input.setCustomValidity(large ? form.dataset.large : "");
  if (large) say(form.dataset.large, 101); else if (document.querySelector("#problem[data-code='101']")) say("");
  if (!large) draw(1);
}

function put(files) {
  const data = new DataTransfer();
  for (const f of files) data.items.add(f);
  input.files = data.files;
  show();
}

const { draw, marks } = placing(form, {
  pdf: () => [...input.files].find((f) => /\.pdf$/i.test(f.name) || f.type === "application/pdf"),
  first: () => form.elements.visible.checked,
  chosen: () => { form.elements.visible.checked = true; },
});
input.addEventListener("change", show);

for (const type of ["dragover", "dragleave", "drop"]) {
  drop.addEventListener(type, (event) => {
    event.preventDefault();
    drop.classList.toggle("over", type === "dragover");
    if (type === "drop" && event.dataTransfer.files.length) put([...input.files, ...event.dataTransfer.files]);
  });
}

// Sending stays on the page until it is done, so that nothing is lost when it is
// refused or the session has ended.
let busy = false;
form.addEventListener("submit", (event) => {
  if (event.submitter?.hasAttribute("formaction")) return;
  event.preventDefault();
  if (busy) return;
  busy = true;
  send.disabled = true;
  say("");
  progress.hidden = false;
  const bar = progress.querySelector("progress"), words = progress.querySelector("p");
  words.textContent = form.dataset.sending;
  const request = new XMLHttpRequest();
  request.open("POST", form.action);
  request.setRequestHeader("Accept", "text/html");
  request.upload.addEventListener("progress", (e) => { if (e.lengthComputable) bar.value = (100 * e.loaded) / e.total; });
  request.upload.addEventListener("load", () => { bar.removeAttribute("value"); words.textContent = form.dataset.working; });
  const over = () => { busy = false; send.disabled = false; progress.hidden = true; };
  request.addEventListener("error", () => { over(); say(form.dataset.lost); });
  request.addEventListener("load", () => {
    if (request.status === 200 && new URL(request.responseURL).pathname.startsWith("/console/sign/")) {
      location.assign(request.responseURL);
      return;
    }
    over();
    const answer = page(request.responseText);
    const problem = answer.querySelector("[role=alert]");
    const key = answer.querySelector("#sign input[name=key]");
    if (key) form.elements.key.value = key.value;
    let text = problem?.textContent.trim() || form.dataset.lost;
    if (request.status === 401) text += " " + form.dataset.login;
    say(text, problem?.dataset.code);
    if (key) form.elements.certificateOtp.value = "";
    // What is wrong with a field stands at it, and the field is empty.
    for (const field of form.querySelectorAll(".field.wrong")) mend(field, answer);
    for (const wrong of answer.querySelectorAll(".field.wrong")) mend(form.elements[wrong.querySelector("input").name].closest(".field"), answer)?.focus();
    if (answer.querySelector("#pdfPassword")?.closest("details[open]")) form.elements.pdfPassword.closest("details").open = true;
  });
  request.send(new FormData(form));
});

// A page that the back button brings back may be sent again: its key sees to it
// that nothing is signed twice.
addEventListener("pageshow", () => { busy = false; send.disabled = false; progress.hidden = true; });
if (input.files.length) show(); else marks();
