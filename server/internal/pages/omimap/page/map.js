// The map of quotations that can be moved: it stands in for the drawing of the
// server, loads outlines by view, and writes the place that is clicked into the
// address. Everything it shows is in the list beside it too.

const map = document.getElementById("map");
const panel = document.getElementById("panel");
const tip = map.querySelector(".tip");

// Levels of detail: up to how many degrees a pixel shows, and the side of a tile.
const levels = [
  { name: "provinces", below: Infinity, size: 0 },
  { name: "municipalities", below: 0.0035, size: 1 },
  { name: "zones", below: 0.0009, size: 0.25 },
  { name: "detail", below: 0.00022, size: 0.1 },
];
const steps = [600, 900, 1300, 1800, 2500, 3500, 5000];

const mercator = (lat) => (Math.log(Math.tan(Math.PI / 4 + (lat * Math.PI) / 360)) * 180) / Math.PI;
const latitude = (y) => (Math.atan(Math.exp((y * Math.PI) / 180)) * 360) / Math.PI - 90;
const colourOf = (price) => (price > 0 ? 1 + steps.filter((s) => price >= s).length : 0);
const numbers = (text) => (text ? text.split(",").map(Number) : null);

const canvas = document.createElement("canvas");
const cross = document.createElement("div");
const said = document.createElement("p");
cross.className = "cross";
said.className = "hide";
said.setAttribute("role", "status");
canvas.setAttribute("aria-hidden", "true");
const ctx = canvas.getContext("2d");

let view = { x: 12, y: 44, scale: 50 }; // the middle, and pixels per degree
let width = 1, height = 1, dpr = 1;
let tiles = new Map(); // by level and place: a tile, or a promise of one
let known = levels.map(() => new Set()); // areas that are drawn already, by level
let shown = {}; // what the panel says: tiles, semester, frame, place
let colours = {}, hatch;
let waiting = 0;

function state() {
  const d = document.getElementById("view").dataset;
  return { tiles: d.tiles, semester: d.semester, scale: d.scale, frame: numbers(d.frame), place: numbers(d.place), title: d.title };
}

function zoneShown() {
  const z = document.getElementById("zone");
  return z ? z.dataset.municipality + "/" + z.dataset.code : "";
}

// ---- outlines

// decode makes features of a tile. Coordinates count from the tile's first vertex,
// since paths have 24 bits of precision only.
function decode(level, areas) {
  const tile = { features: [], fills: new Map(), lines: new Path2D(), box: [Infinity, Infinity, -Infinity, -Infinity], x: null, y: null };
  for (const [name, province, code, price, semester, quoted, ...shapes] of areas) {
    const id = code || province;
    if (level < 3) {
      if (known[level].has(id)) continue;
      known[level].add(id);
    }
    for (const [zone, own, [unit, ...rings]] of shapes) {
      const f = { name, province, code, zone, semester, quoted, price: zone ? own : price, path: new Path2D(), box: [Infinity, Infinity, -Infinity, -Infinity], at: null, size: 0 };
      let fx = 0, fy = 0; // the first vertex of the ring before
      for (const ring of rings) {
        let x = fx, y = fy, area = 0, cx = 0, cy = 0, px, py, ox, oy;
        for (let i = 0; i < ring.length; i += 2) {
          x += ring[i];
          y += ring[i + 1];
          const wx = (x * unit) / 1e6, wy = mercator((y * unit) / 1e6);
          if (i === 0) { fx = x; fy = y; }
          tile.x ??= wx;
          tile.y ??= wy;
          const rx = wx - tile.x, ry = wy - tile.y;
          if (i === 0) {
            f.path.moveTo(rx, ry);
            ox = rx; oy = ry;
          } else {
            f.path.lineTo(rx, ry);
            const cut = px * ry - rx * py;
            area += cut; cx += (px + rx) * cut; cy += (py + ry) * cut;
          }
          px = rx; py = ry;
          f.box[0] = Math.min(f.box[0], wx); f.box[1] = Math.min(f.box[1], wy);
          f.box[2] = Math.max(f.box[2], wx); f.box[3] = Math.max(f.box[3], wy);
        }
        f.path.closePath();
        const cut = px * oy - ox * py;
        area += cut; cx += (px + ox) * cut; cy += (py + oy) * cut;
        if (Math.abs(area) > f.size) {
          f.size = Math.abs(area);
          f.at = [tile.x + cx / 3 / area, tile.y + cy / 3 / area];
        }
      }
      if (!f.at) continue;
      f.colour = colourOf(f.price);
      const kind = semester + " " + f.colour;
      if (!tile.fills.has(kind)) tile.fills.set(kind, { semester, colour: f.colour, path: new Path2D() });
      tile.fills.get(kind).path.addPath(f.path);
      tile.lines.addPath(f.path);
      tile.features.push(f);
      for (const k of [0, 1]) tile.box[k] = Math.min(tile.box[k], f.box[k]);
      for (const k of [2, 3]) tile.box[k] = Math.max(tile.box[k], f.box[k]);
    }
  }
  return tile;
}

function levelNow() {
  let n = 0;
  levels.forEach((l, i) => { if (1 / view.scale < l.below) n = i; });
  return n;
}

function bounds() {
  const w = width / 2 / view.scale, h = height / 2 / view.scale;
  return [view.x - w, view.y - h, view.x + w, view.y + h];
}

// needed are the tiles that the view reaches into.
function needed(level) {
  const { size, name } = levels[level];
  if (!size) return [[name, 0, 0]];
  const [w, s, e, n] = bounds();
  const all = [];
  for (let y = Math.floor(latitude(s) / size); y <= Math.floor(latitude(n) / size); y++) {
    for (let x = Math.floor(w / size); x <= Math.floor(e / size); x++) all.push([name, x, y]);
  }
  return all.length > 80 ? [] : all;
}

function load() {
  const level = levelNow();
  const set = tiles, of = shown;
  for (const [name, x, y] of level ? [...needed(level), ["provinces", 0, 0]] : needed(0)) {
    const id = name + " " + x + " " + y;
    if (set.has(id)) continue;
    set.set(id, null);
    waiting++;
    const at = levels.findIndex((l) => l.name === name);
    const q = new URLSearchParams({ level: name, x, y, v: of.tiles });
    if (of.semester) q.set("semester", of.semester);
    fetch("/map/areas?" + q)
      .then((r) => (r.ok ? r.json() : Promise.reject(new Error(r.status))))
      .then((data) => { if (set === tiles) { set.set(id, { level: at, ...decode(at, data.areas) }); redraw(); } })
      .catch(() => set.delete(id)) // the next movement tries again
      .finally(() => waiting--);
  }
}

// ---- drawing

function readColours() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(name).trim();
  colours = { border: of("--border"), rim: of("--rim"), here: of("--here"), card: of("--card"), ink: of("--ink"), fill: [0, 1, 2, 3, 4, 5, 6, 7, 8].map((i) => of("--c" + i)) };
  const piece = document.createElement("canvas");
  piece.width = piece.height = 8;
  const p = piece.getContext("2d");
  p.fillStyle = colours.fill[0];
  p.fillRect(0, 0, 8, 8);
  p.strokeStyle = of("--stripe");
  p.lineWidth = 2;
  for (const x of [-8, 0, 8]) { p.moveTo(x, 8); p.lineTo(x + 8, 0); }
  p.stroke();
  hatch = ctx.createPattern(piece, "repeat");
}

// fillOf is the colour of an area: prices of another semester than the scale's have none.
function fillOf(semester, colour) {
  if (!shown.scale || semester === shown.scale) return colours.fill[colour];
  hatch.setTransform(ctx.getTransform().inverse()); // stripes are as wide at every scale
  return hatch;
}

const meets = (a, b) => a[0] <= b[2] && b[0] <= a[2] && a[1] <= b[3] && b[1] <= a[3];

let frame = 0;
function redraw() {
  frame ||= requestAnimationFrame(() => { frame = 0; draw(); });
}

function visibleTiles(level, box) {
  return [...tiles.values()].filter((t) => t && t.level === level && t.x !== null && meets(t.box, box));
}

function place(t) {
  const k = dpr * view.scale;
  ctx.setTransform(k, 0, 0, -k, dpr * ((t.x - view.x) * view.scale + width / 2), dpr * (height / 2 - (t.y - view.y) * view.scale));
}

function draw() {
  const level = levelNow(), box = bounds();
  const whole = needed(level).every((t) => tiles.get(t.join(" ")));
  ctx.setTransform(1, 0, 0, 1, 0, 0);
  ctx.clearRect(0, 0, canvas.width, canvas.height);
  ctx.lineJoin = "round";
  for (let n = whole ? level : 0; n <= level; n++) {
    for (const t of visibleTiles(n, box)) {
      place(t);
      if (n === 3) { // published perimeters overlap here and there
        for (const f of t.features) {
          ctx.fillStyle = fillOf(f.semester, f.colour);
          ctx.fill(f.path, "evenodd");
        }
      } else {
        t.fills.forEach(({ semester, colour, path }) => { ctx.fillStyle = fillOf(semester, colour); ctx.fill(path, "evenodd"); });
      }
      ctx.strokeStyle = n === 1 ? colours.border : colours.rim;
      ctx.lineWidth = (n === 1 ? 0.8 : 0.6) / view.scale;
      ctx.stroke(t.lines);
    }
  }
  const chosen = zoneShown();
  for (const t of chosen ? visibleTiles(level, box) : []) {
    for (const f of t.features) {
      if (f.code + "/" + f.zone !== chosen) continue;
      place(t);
      for (const [colour, wide] of [[colours.card, 6], [colours.here, 3]]) { // seen on any colour
        ctx.strokeStyle = colour;
        ctx.lineWidth = wide / view.scale;
        ctx.stroke(f.path);
      }
    }
  }
  if (shown.place) {
    ctx.setTransform(dpr, 0, 0, dpr, 0, 0);
    const [x, y] = toScreen(shown.place[1], mercator(shown.place[0]));
    ctx.beginPath();
    ctx.arc(x, y, 7, 0, 7);
    ctx.fillStyle = colours.here;
    ctx.strokeStyle = colours.card;
    ctx.lineWidth = 2.5;
    ctx.fill();
    ctx.stroke();
  }
  if (whole) map.classList.add("drawn");
  label(level, box, whole);
}

const toScreen = (x, y) => [(x - view.x) * view.scale + width / 2, height / 2 - (y - view.y) * view.scale];
const toWorld = (px, py) => [(px - width / 2) / view.scale + view.x, (height / 2 - py) / view.scale + view.y];

// label writes the names that have room: first of areas with many quoted values, which
// are those that people know.
function label(level, box, whole) {
  if (!whole) return;
  const taken = [], words = [];
  const all = visibleTiles(level, box).flatMap((t) => t.features.map((f) => [f, t])).filter(([f]) => meets(f.box, box)).sort(([a], [b]) => b.quoted - a.quoted || b.size - a.size);
  ctx.setTransform(1, 0, 0, 1, 0, 0);
  ctx.font = "600 12px system-ui, sans-serif";
  for (const [f, t] of all.slice(0, 400)) {
    const text = f.zone || f.name, w = ctx.measureText(text).width + 6;
    if (level > 1 && ((f.box[2] - f.box[0]) * view.scale < w * 0.8 || (f.box[3] - f.box[1]) * view.scale < 16)) continue;
    const [x, y] = toScreen(...f.at);
    const r = [x - w / 2, y - 9, x + w / 2, y + 9];
    if (r[0] < 2 || r[2] > width - 2 || r[1] < 2 || r[3] > height - 2 || taken.some((o) => meets(o, r))) continue;
    if (level > 1 && !ctx.isPointInPath(f.path, f.at[0] - t.x, f.at[1] - t.y, "evenodd")) continue; // around another
    taken.push(r);
    words.push([text, x, y]);
    if (words.length >= 70) break;
  }
  ctx.setTransform(dpr, 0, 0, dpr, 0, 0);
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.lineWidth = 3;
  ctx.strokeStyle = colours.card;
  ctx.fillStyle = colours.ink;
  for (const [text, x, y] of words) {
    ctx.strokeText(text, x, y);
    ctx.fillText(text, x, y);
  }
}

// ---- moving

function limits() {
  view.scale = Math.min(400000, Math.max(20, view.scale));
  view.x = Math.min(20, Math.max(5, view.x));
  view.y = Math.min(mercator(48.5), Math.max(mercator(34.5), view.y));
}

let settled = 0;
function moved() {
  limits();
  redraw();
  clearTimeout(settled);
  settled = setTimeout(load, 90);
}

function zoom(factor, px = width / 2, py = height / 2) {
  const [x, y] = toWorld(px, py);
  const before = view.scale;
  view.scale = Math.min(400000, Math.max(20, view.scale * factor));
  const k = before / view.scale;
  view.x = x - (x - view.x) * k;
  view.y = y - (y - view.y) * k;
  moved();
}

function fit(to) {
  if (!to) return;
  const [w, s, e, n] = to, low = mercator(s), high = mercator(n);
  view = { x: (w + e) / 2, y: (low + high) / 2, scale: Math.min(width / (e - w), height / (high - low)) };
  moved();
}

const fingers = new Map();
let travelled = 0, pinched = 0;
const spot = (e) => { const r = map.getBoundingClientRect(); return [e.clientX - r.left, e.clientY - r.top]; };

map.addEventListener("pointerdown", (e) => {
  if (e.target.closest("button") || e.button > 0) return;
  if (!fingers.size) { travelled = 0; pinched = 0; }
  fingers.set(e.pointerId, spot(e));
  map.setPointerCapture(e.pointerId);
});

map.addEventListener("pointermove", (e) => {
  const now = spot(e), before = fingers.get(e.pointerId);
  if (!before) { if (e.pointerType === "mouse") hover(now); return; }
  const others = [...fingers].filter(([id]) => id !== e.pointerId).map(([, at]) => at);
  travelled += Math.hypot(now[0] - before[0], now[1] - before[1]);
  fingers.set(e.pointerId, now);
  if (travelled < 6) return;
  map.classList.add("drag");
  tip.hidden = true;
  if (others.length) {
    const o = others[0];
    const far = (a) => Math.hypot(a[0] - o[0], a[1] - o[1]);
    pinched++;
    zoom(far(now) / Math.max(1, far(before)), (now[0] + o[0]) / 2, (now[1] + o[1]) / 2);
  }
  const share = others.length ? 2 : 1;
  view.x -= (now[0] - before[0]) / view.scale / share;
  view.y += (now[1] - before[1]) / view.scale / share;
  moved();
});

for (const kind of ["pointerup", "pointercancel"]) {
  map.addEventListener(kind, (e) => {
    const at = fingers.get(e.pointerId);
    fingers.delete(e.pointerId);
    if (fingers.size) return;
    map.classList.remove("drag");
    if (at && kind === "pointerup" && travelled < 6 && !pinched) pick(...spot(e));
  });
}
map.addEventListener("pointerleave", () => { tip.hidden = true; });
map.addEventListener("click", (e) => { if (e.target.closest("svg a")) e.preventDefault(); }); // the place decides

map.addEventListener("wheel", (e) => {
  e.preventDefault();
  const by = e.deltaY * (e.deltaMode ? 24 : 1);
  zoom(Math.exp(-Math.max(-240, Math.min(240, by)) * 0.0025), ...spot(e));
}, { passive: false });

map.addEventListener("keydown", (e) => {
  if (e.target !== map || e.ctrlKey || e.metaKey || e.altKey) return;
  const step = 0.18 * Math.min(width, height) / view.scale;
  const act = {
    ArrowLeft: () => { view.x -= step; moved(); }, ArrowRight: () => { view.x += step; moved(); },
    ArrowUp: () => { view.y += step; moved(); }, ArrowDown: () => { view.y -= step; moved(); },
    "+": () => zoom(1.6), "=": () => zoom(1.6), "-": () => zoom(1 / 1.6), Home: whole, Enter: () => pick(width / 2, height / 2),
  }[e.key];
  if (act) { e.preventDefault(); act(); }
});

function whole() {
  const all = visibleTiles(0, [-180, -180, 180, 180])[0];
  if (all) fit([all.box[0], latitude(all.box[1]), all.box[2], latitude(all.box[3])]);
}

map.querySelector(".keys").addEventListener("click", (e) => {
  const how = e.target.closest("button")?.dataset.zoom;
  if (how === "in") zoom(1.7); else if (how === "out") zoom(1 / 1.7); else if (how === "all") whole();
});

function hover(at) {
  const [x, y] = toWorld(...at);
  ctx.setTransform(1, 0, 0, 1, 0, 0);
  for (const t of visibleTiles(levelNow(), [x, y, x, y]).reverse()) {
    for (const f of [...t.features].reverse()) {
      if (!meets(f.box, [x, y, x, y]) || !ctx.isPointInPath(f.path, x - t.x, y - t.y, "evenodd")) continue;
      const price = f.price ? " · " + f.price.toLocaleString(document.documentElement.lang, { useGrouping: "always" }) + " €/m²" : "";
      tip.textContent = (f.zone ? f.zone + ", " : "") + f.name + (f.code ? " (" + f.province + ")" : "") + price + (price && shown.scale && f.semester !== shown.scale ? " · " + f.semester : "");
      tip.hidden = false;
      return;
    }
  }
  tip.hidden = true;
}

// ---- the address and what is beside the map

function pick(px, py) {
  const [x, y] = toWorld(px, py);
  const digits = levelNow() > 1 ? 6 : 4;
  const to = new URL("/map", location.href);
  to.searchParams.set("lat", +latitude(y).toFixed(digits));
  to.searchParams.set("lng", +x.toFixed(digits));
  shown.place = [latitude(y), x];
  redraw();
  visit(to.pathname + to.search + (shown.semester ? "&semester=" + shown.semester : ""), { near: levelNow() > 1 });
}

let asking;
async function visit(address, { near = false, push = true, focus = false } = {}) {
  asking?.abort();
  asking = new AbortController();
  let answer, html;
  try {
    answer = await fetch(address, { headers: { "X-Part": "panel", Accept: "text/html" }, signal: asking.signal });
    html = await answer.text();
  } catch (e) {
    if (e.name !== "AbortError") location.assign(address);
    return;
  }
  if (!answer.headers.get("Content-Type")?.startsWith("text/html")) { location.assign(address); return; }
  const url = new URL(answer.url);
  if (push) history.pushState(null, "", url.pathname + url.search);
  panel.innerHTML = html;
  adopt(near);
  document.title = shown.title + " · Rogito";
  said.textContent = panel.querySelector("h2")?.textContent ?? "";
  if (focus) panel.querySelector("h2")?.focus({ preventScroll: false });
}

// adopt takes over what the panel says about the map.
function adopt(near) {
  const next = state();
  if (next.tiles !== shown.tiles || next.semester !== shown.semester) {
    tiles = new Map();
    known = levels.map(() => new Set());
  }
  shown = next;
  tellScale();
  const inView = shown.place && meets(bounds(), [shown.place[1], mercator(shown.place[0]), shown.place[1], mercator(shown.place[0])]);
  if (near && inView) { redraw(); } else { approach(); }
  load();
}

// tellScale writes above the map which semester the colours are of.
function tellScale() {
  const told = panel.querySelector(".told");
  document.getElementById("scale").innerHTML = told.innerHTML;
  document.getElementById("other-key").hidden = told.dataset.others === "0";
  for (const b of panel.querySelectorAll("[data-print]")) b.hidden = false;
}

// approach shows what the panel is about; zones as near as they are drawn.
function approach() {
  fit(shown.frame);
  const least = 1.05 / levels[2].below;
  if (!panel.querySelector("[data-code]") || view.scale >= least) return;
  view.scale = least;
  if (shown.place) [view.x, view.y] = [shown.place[1], mercator(shown.place[0])];
  moved();
}

panel.addEventListener("click", (e) => {
  if (e.target.closest("[data-print]")) { print(); return; }
  const a = e.target.closest("a[href^='/map?'], a[href='/map']");
  if (!a || e.ctrlKey || e.metaKey || e.shiftKey || e.button) return;
  e.preventDefault();
  visit(a.getAttribute("href"), { focus: true });
});

function sent(form) {
  const q = new URLSearchParams(new FormData(form));
  return "/map?" + q.toString().replaceAll("%2F", "/");
}

panel.addEventListener("change", (e) => {
  if (e.target.matches("select")) visit(sent(e.target.form), { near: true }).then(() => panel.querySelector("#" + e.target.id)?.focus());
});
addEventListener("popstate", () => visit(location.pathname + location.search, { push: false }));

// ---- begin

function size() {
  width = map.clientWidth;
  height = map.clientHeight;
  dpr = Math.min(2, devicePixelRatio || 1);
  canvas.width = Math.round(width * dpr);
  canvas.height = Math.round(height * dpr);
}

map.classList.add("live");
map.prepend(canvas, cross);
map.after(said);
map.tabIndex = 0;
map.setAttribute("role", "application");
map.setAttribute("aria-label", map.dataset.help);
map.querySelector(".keys").hidden = false;
readColours();
size();
shown = state();
tellScale();
approach();
load();
draw();
new ResizeObserver(() => { if (map.clientWidth !== width || map.clientHeight !== height) { size(); draw(); load(); } }).observe(map);
for (const q of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) {
  matchMedia(q).addEventListener("change", () => { readColours(); redraw(); });
}
