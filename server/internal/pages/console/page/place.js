// Places on a page: the page is drawn by the server, a click puts the box of a
// signature there, and boxes are dragged and resized. What they say stands in the
// fields of the form, which can be typed as well.
const usual = { width: 164, height: 45 };
const svgns = "http://www.w3.org/2000/svg";
const page = (html) => new DOMParser().parseFromString(html, "text/html");

// placing serves a form: pdf() is the document that is shown, first says that the first
// place is there from the start.
export function placing(form, { pdf, first, chosen = () => {} }) {
  const plan = form.querySelector(".plan");
  const said = plan.querySelector("[role=status]");
  const rows = [...form.querySelectorAll("[data-place]")];
  let active = rows[0], drawing, drag, dragged;
  form.elements.timezone.value = Intl.DateTimeFormat().resolvedOptions().timeZone; // of the times on the page

  const field = (row, name) => form.elements[name + row.dataset.place];
  const value = (row, name) => Number((field(row, name)?.value ?? "").replace(",", "."));
  const given = (row) => ["page", "x", "y"].some((name) => field(row, name).value !== "");
  const label = (row) => row.dataset.label ||
    ["name", "surname"].map((name) => field(row, name)?.value).filter(Boolean).join(" ") || row.querySelector("legend").textContent;
  const sheet = () => plan.querySelector("#place");
  const pageOf = (row, count) => { const n = value(row, "page"); return n < 0 ? count + 1 + n : n || 1; };
  const box = (row) => ({
    x: field(row, "x").value === "" ? 20 : value(row, "x") - Number(sheet()?.dataset.left ?? 0),
    y: field(row, "y").value === "" ? 20 : value(row, "y") - Number(sheet()?.dataset.top ?? 0),
    width: value(row, "width") || usual.width, height: value(row, "height") || usual.height,
  });

  function put(row, b) {
    const svg = sheet(), w = Number(svg.dataset.width), h = Number(svg.dataset.height);
    const width = Math.min(Math.max(b.width, 30), w), height = Math.min(Math.max(b.height, 15), h);
    const set = (name, n) => { const f = field(row, name); if (f) f.value = Math.round(n); };
    set("x", Math.min(Math.max(0, b.x), w - width) + Number(svg.dataset.left));
    set("y", Math.min(Math.max(0, b.y), h - height) + Number(svg.dataset.top));
    if (width !== usual.width || field(row, "width")?.value) set("width", width);
    if (height !== usual.height || field(row, "height")?.value) set("height", height);
    field(row, "page").value = svg.dataset.page;
    chosen(row);
    marks();
  }

  // The boxes go where the fields say.
  function marks() {
    const svg = sheet();
    if (!svg) return;
    const all = svg.querySelector("#marks");
    all.replaceChildren();
    for (const row of rows) {
      if (!given(row) && !(first?.() && row === rows[0]) || pageOf(row, Number(svg.dataset.pages)) !== Number(svg.dataset.page)) continue;
      const b = box(row), g = document.createElementNS(svgns, "g");
      g.setAttribute("class", row === active ? "mark active" : "mark");
      g.setAttribute("transform", `translate(${b.x} ${b.y})`);
      const add = (name, at, text) => {
        const e = document.createElementNS(svgns, name);
        for (const [k, v] of Object.entries(at)) e.setAttribute(k, v);
        if (text) e.textContent = text;
        g.append(e);
      };
      add("rect", { width: b.width, height: b.height, rx: 2 });
      add("text", { x: 6, y: 16, "font-size": 11 }, label(row));
      add("rect", { class: "handle", x: b.width - 12, y: b.height - 12, width: 12, height: 12 });
      g.row = row;
      all.append(g);
    }
  }

  async function draw(show) {
    drawing?.abort();
    const file = pdf();
    plan.hidden = !file;
    if (!file) return;
    drawing = new AbortController();
    const body = new FormData();
    body.set("show", show ?? (field(active, "page").value || sheet()?.dataset.page || 1));
    for (const name of ["as", "pdfPassword", "media"]) if (form.elements[name]) body.set(name, form.elements[name].value);
    body.set("inputDocuments", file, file.name);
    said.textContent = plan.dataset.drawing;
    try {
      const answer = await fetch("/console/page", { method: "POST", body, signal: drawing.signal, headers: { Accept: "text/html" } });
      const got = page(await answer.text());
      const figure = got.querySelector("figure.sheet");
      said.textContent = figure ? "" : got.querySelector("[role=alert]")?.textContent.trim() ?? "";
      plan.querySelector(".sheet").replaceWith(figure ? document.adoptNode(figure) : Object.assign(document.createElement("div"), { className: "sheet" }));
      marks();
    } catch (e) {
      if (e.name !== "AbortError") said.textContent = "";
    }
  }

  const at = (event) => new DOMPoint(event.clientX, event.clientY).matrixTransform(sheet().getScreenCTM().inverse());
  plan.addEventListener("pointerdown", (event) => {
    dragged = false;
    const g = event.target.closest?.(".mark");
    if (!g?.row || event.button) return;
    active = g.row;
    drag = { from: at(event), box: box(active), resize: event.target.classList.contains("handle") };
    sheet().setPointerCapture(event.pointerId);
    event.preventDefault();
    marks();
  });
  plan.addEventListener("pointermove", (event) => {
    if (!drag) return;
    const p = at(event), dx = p.x - drag.from.x, dy = p.y - drag.from.y, b = drag.box;
    if (!dragged && Math.hypot(dx, dy) < 2) return;
    dragged = true;
    put(active, drag.resize ? { ...b, width: b.width + dx, height: b.height + dy } : { ...b, x: b.x + dx, y: b.y + dy });
  });
  for (const type of ["pointerup", "pointercancel"]) plan.addEventListener(type, () => { if (drag && !dragged) dragged = true; drag = null; });
  plan.addEventListener("click", (event) => {
    const turn = event.target.closest?.("[data-turn]");
    if (turn) return void draw(Number(sheet().dataset.page) + Number(turn.dataset.turn));
    if (event.target.closest?.("[data-another]")) {
      const next = rows.find((row) => row !== rows[0] && !given(row));
      if (!next) return;
      next.closest("details")?.setAttribute("open", "");
      const last = box(active);
      active = next;
      return void put(next, { ...last, y: last.y + last.height + 10 });
    }
    if (!event.target.closest?.("#place") || dragged) return;
    const p = at(event);
    put(active, { ...box(active), x: p.x, y: p.y });
  });
  form.addEventListener("focusin", (event) => {
    const row = event.target.closest?.("[data-place]");
    if (row && row !== active) { active = row; marks(); }
  });
  form.addEventListener("input", (event) => { if (event.target.closest?.("[data-place]") || event.target.name === "visible") marks(); });
  form.addEventListener("change", (event) => {
    if (/^page(-|$)/.test(event.target.name) || event.target.name === "pdfPassword") draw(event.target.name === "pdfPassword" ? undefined : event.target.value || 1);
  });
  return { draw, marks };
}
