// Saved looks of a visible signature: kept in this browser, for this account.
const form = document.querySelector("#sign");
const box = form.querySelector(".looks");
const list = box.querySelector("#looks"), name = box.querySelector("#look-name"), said = box.querySelector("#look-said");
const key = "rogito looks " + form.elements.as.value;
const fields = ["reason", "location", "layout", "width", "height"];

const read = () => {
  try { return JSON.parse(localStorage.getItem(key)) ?? {}; } catch { return {}; }
};
const write = (all) => { localStorage.setItem(key, JSON.stringify(all)); show(); };

function show(chosen = "") {
  list.replaceChildren(new Option(box.dataset.none, ""), ...Object.keys(read()).sort().map((n) => new Option(n, n, false, n === chosen)));
}

const picture = (file) => new Promise((done) => {
  const reader = new FileReader();
  reader.addEventListener("load", () => done(reader.result));
  reader.readAsDataURL(file);
});

box.querySelector("#save-look").addEventListener("click", async () => {
  const as = name.value.trim();
  if (!as) return void name.focus();
  const look = Object.fromEntries(fields.map((f) => [f, form.elements[f].value]));
  const file = form.elements.image.files[0];
  if (file) look.image = { name: file.name, type: file.type, data: await picture(file) };
  try {
    write({ ...read(), [as]: look });
    show(as);
    said.textContent = said.dataset.saved;
  } catch { said.textContent = ""; } // the browser keeps nothing, or no more
});
box.querySelector("#drop-look").addEventListener("click", () => {
  const all = read();
  if (!list.value) return;
  delete all[list.value];
  write(all);
  said.textContent = said.dataset.dropped;
});
list.addEventListener("change", () => {
  const look = read()[list.value];
  if (!look) return;
  for (const f of fields) form.elements[f].value = look[f] ?? "";
  const files = new DataTransfer();
  if (look.image) {
    const bytes = Uint8Array.from(atob(look.image.data.split(",")[1]), (c) => c.charCodeAt(0));
    files.items.add(new File([bytes], look.image.name, { type: look.image.type }));
  }
  form.elements.image.files = files.files;
  form.elements.visible.checked = true;
  form.elements.visible.dispatchEvent(new Event("input", { bubbles: true }));
});
box.hidden = false;
show();
