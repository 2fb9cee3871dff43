// The drop zone of /check: files, folders and archives may be dropped or chosen,
// the sending shows its progress, and the verdicts take the place of the page.
// Without it the form does the same.
customElements.define("check-drop", class extends HTMLElement {
  connectedCallback() {
    const form = this.closest("form");
    this.classList.add("scripted");
    for (const name of ["dragenter", "dragover"]) this.addEventListener(name, e => { e.preventDefault(); this.classList.add("over") });
    for (const name of ["dragleave", "drop"]) this.addEventListener(name, () => this.classList.remove("over"));
    this.addEventListener("drop", async e => {
      e.preventDefault();
      const files = await dropped(e.dataTransfer);
      if (files.length) send(form, files);
    });
    // Who has opened the options wants to fill them in first.
    let soon = 0;
    const chosen = () => [...this.querySelectorAll("input[type=file]")].flatMap(i => [...i.files]);
    this.addEventListener("change", () => {
      clearTimeout(soon);
      const names = chosen().map(f => f.webkitRelativePath || f.name), line = this.querySelector("#chosen");
      line.textContent = names.length ? line.dataset.chosen + " " + names.slice(0, 5).join(", ") + (names.length > 5 ? " … (" + names.length + ")" : "") : "";
      if (names.length && !form.querySelector("details").open) soon = setTimeout(() => send(form), 200);
    });
    form.addEventListener("toggle", () => clearTimeout(soon), true);
    form.addEventListener("submit", e => { e.preventDefault(); clearTimeout(soon); send(form) });
  }
});

// The files of a drop, those of folders with their paths.
async function dropped(transfer) {
  const entries = [...transfer.items].map(i => i.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.some(e => e.isDirectory)) return [...transfer.files].map(f => [f, f.name]);
  const found = [];
  const walk = async (entry, below) => {
    if (entry.name.startsWith(".") && below || found.length > 1000) return;
    if (entry.isFile) return found.push([await new Promise((ok, no) => entry.file(ok, no)), below + entry.name]);
    const reader = entry.createReader();
    for (let more; (more = await new Promise((ok, no) => reader.readEntries(ok, no))).length;)
      for (const e of more) await walk(e, below + entry.name + "/");
  };
  for (const e of entries) await walk(e, "");
  return found;
}

// What was sent last, to ask for the same in the other language, or again with a
// password.
let last = null, running = null;

function send(form, files) {
  const data = new FormData(form), working = form.querySelector("#working");
  for (const [name, value] of [...data]) if (value instanceof File && !value.name && !value.size) data.delete(name);
  if (files) {
    data.delete("inputDocument");
    data.delete("inputFolder");
    for (const [file, path] of files) data.append("inputDocument", file, path);
  }
  if (!data.has("inputDocument") && !data.has("inputFolder")) {
    if (!last || !document.querySelector("main > .alert")) return alert(form, working.dataset.none);
    for (const name of ["inputDocument", "inputFolder"]) for (const file of last.getAll(name)) data.append(name, file);
  }
  for (const value of data.values())
    if (value instanceof File && value.size > Number(working.dataset.max)) return alert(form, value.name + ": " + working.dataset.large + " " + Math.round(working.dataset.max / 1048576) + " MB");
  last = data;
  post(form.action, data, form);
}

function post(address, data, form) {
  running?.abort();
  const working = form.querySelector("#working"), bar = form.querySelector("#progress"), button = form.querySelector("button[type=submit]");
  const x = running = new XMLHttpRequest();
  x.open("POST", address);
  x.setRequestHeader("Accept", "text/html");
  x.responseType = "document";
  bar.hidden = false;
  bar.value = 0;
  working.textContent = working.dataset.sending;
  x.upload.onprogress = e => { if (e.lengthComputable) bar.value = 100 * e.loaded / e.total };
  x.upload.onload = () => { bar.removeAttribute("value"); working.textContent = working.dataset.reading };
  const stop = () => { bar.hidden = true; button.disabled = false; working.textContent = "" };
  x.onerror = () => { stop(); alert(form, working.dataset.lost) };
  x.onload = () => { stop(); show(x.response, form) };
  x.send(data);
}

// show puts the page that was answered in the place of this one.
function show(page, form) {
  if (!page?.querySelector("main")) return alert(form, form.querySelector("#working").dataset.lost);
  document.documentElement.lang = page.documentElement.lang;
  document.title = page.title;
  document.body.replaceWith(document.adoptNode(page.body));
  history.replaceState(null, "", location.pathname);
  local();
  const main = document.querySelector("main");
  main.focus({preventScroll: true});
  scrollTo(0, 0);
}

// Times are told in the zone of the reader; what the server wrote stays as title.
// Italian pages are in Italian time.
function local() {
  if (document.documentElement.lang === "it") return;
  const form = new Intl.DateTimeFormat("en-GB", {day: "numeric", month: "long", year: "numeric", hour: "2-digit", minute: "2-digit", timeZoneName: "short"});
  for (const time of document.querySelectorAll("main time.at")) {
    const part = Object.fromEntries(form.formatToParts(new Date(time.dateTime)).map(p => [p.type, p.value]));
    time.textContent = `${part.day} ${part.month} ${part.year}, ${part.hour}:${part.minute} ${part.timeZoneName}`;
  }
}
local();

function alert(form, text) {
  let box = form.parentElement.querySelector(":scope > .alert");
  if (!box) {
    box = document.createElement("div");
    box.className = "alert";
    form.before(box);
  }
  box.setAttribute("role", "alert");
  box.textContent = text;
}

// The switch of language asks for the same verdicts again: the files are at hand.
document.addEventListener("click", e => {
  const link = e.target.closest("a.lang"), form = document.querySelector("#check");
  if (!link || !last || !form || !document.querySelector("#verdict")) return;
  e.preventDefault();
  post("/check?lang=" + link.hreflang, last, form);
});
