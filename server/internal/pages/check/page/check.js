// The drop zone of /check: files may be dropped, the sending shows its progress,
// and the verdict takes the place of the page. Without it the form does the same.
customElements.define("check-drop", class extends HTMLElement {
  connectedCallback() {
    const form = this.closest("form"), input = this.querySelector("input[type=file]");
    for (const name of ["dragenter", "dragover"]) this.addEventListener(name, e => { e.preventDefault(); this.classList.add("over") });
    for (const name of ["dragleave", "drop"]) this.addEventListener(name, () => this.classList.remove("over"));
    this.addEventListener("drop", e => {
      e.preventDefault();
      if (!e.dataTransfer.files.length) return;
      const one = new DataTransfer();
      one.items.add(e.dataTransfer.files[0]);
      input.files = one.files;
      send(form);
    });
    form.addEventListener("submit", e => { e.preventDefault(); send(form) });
  }
});

// What was sent last, to ask for the same in the other language.
let last = null, running = null;

function send(form) {
  const data = new FormData(form);
  for (const [name, value] of [...data]) if (value instanceof File && !value.name && !value.size) data.delete(name);
  const working = form.querySelector("#working"), file = data.get("inputDocument");
  if (!(file instanceof File)) return form.reportValidity();
  if (file.size > Number(working.dataset.max)) return alert(form, working.dataset.large);
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
  button.disabled = true;
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
  const main = document.querySelector("main");
  main.focus({preventScroll: true});
  scrollTo(0, 0);
}

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

// The switch of language asks for the same verdict again: the file is at hand.
document.addEventListener("click", e => {
  const link = e.target.closest("a.lang"), form = document.querySelector("#check");
  if (!link || !last || !form || !document.querySelector("#verdict")) return;
  e.preventDefault();
  post("/check?lang=" + link.hreflang, last, form);
});
