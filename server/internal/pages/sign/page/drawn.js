// Drawing a signature. Without this script, and for who cannot draw, a name is typed.
const form = document.querySelector("#sign");
const pad = form?.querySelector("#pad");
if (pad) {
  const drawing = form.querySelector(".drawing");
  const value = form.querySelector("[name=drawn]");
  const pen = pad.getContext("2d");
  let down = null;
  let empty = true;
  drawing.hidden = false;

  const reset = () => {
    pen.clearRect(0, 0, pad.width, pad.height);
    empty = true;
    value.value = "";
  };
  const at = (event) => {
    const box = pad.getBoundingClientRect();
    return [((event.clientX - box.left) * pad.width) / box.width, ((event.clientY - box.top) * pad.height) / box.height];
  };
  const line = (from, to) => {
    pen.lineWidth = 4;
    pen.lineCap = pen.lineJoin = "round";
    pen.strokeStyle = "#14213d";
    pen.beginPath();
    pen.moveTo(...from);
    pen.lineTo(...to);
    pen.stroke();
    empty = false;
  };
  pad.addEventListener("pointerdown", (event) => {
    pad.setPointerCapture(event.pointerId);
    down = at(event);
    line(down, down);
  });
  pad.addEventListener("pointermove", (event) => {
    if (down) {
      const to = at(event);
      line(down, to);
      down = to;
    }
  });
  for (const name of ["pointerup", "pointercancel"]) {
    pad.addEventListener(name, () => {
      down = null;
      value.value = empty ? "" : pad.toDataURL("image/png");
    });
  }
  form.querySelector("#clear").addEventListener("click", reset);
}
