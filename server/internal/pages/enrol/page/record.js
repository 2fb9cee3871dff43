// Records the video in the page. What comes out is put into the form's own field, so that
// it is sent, looked at and refused as a chosen file is.
const box = document.querySelector("#recorder");
const types = ["video/mp4", "video/webm;codecs=vp8,opus", "video/webm"];
const type = window.MediaRecorder && types.find((t) => MediaRecorder.isTypeSupported(t));
const most = 60_000;

if (type && navigator.mediaDevices?.getUserMedia) {
  const screen = box.querySelector("#screen"), says = box.querySelector("#recording");
  const start = box.querySelector("#record"), stop = box.querySelector("#stop");
  const field = document.querySelector("#video");
  let recorder, timer;
  box.hidden = false;
  field.removeAttribute("capture");

  start.addEventListener("click", async () => {
    let stream;
    try {
      stream = await navigator.mediaDevices.getUserMedia({ audio: true, video: { facingMode: "user", width: { ideal: 640 }, height: { ideal: 480 } } });
    } catch {
      says.textContent = box.dataset.denied;
      return;
    }
    const parts = [];
    recorder = new MediaRecorder(stream, { mimeType: type, videoBitsPerSecond: 1_500_000 });
    recorder.addEventListener("dataavailable", (e) => e.data.size && parts.push(e.data));
    recorder.addEventListener("stop", () => {
      clearTimeout(timer);
      for (const track of stream.getTracks()) track.stop();
      const plain = type.split(";")[0];
      const file = new File(parts, plain === "video/mp4" ? "video.mp4" : "video.webm", { type: plain });
      const all = new DataTransfer();
      all.items.add(file);
      field.files = all.files;
      if (screen.src) URL.revokeObjectURL(screen.src);
      screen.srcObject = null;
      screen.src = URL.createObjectURL(file);
      screen.muted = false;
      screen.controls = true;
      says.textContent = box.dataset.recorded;
      stop.hidden = true;
      start.hidden = false;
      start.focus();
    });
    screen.controls = false;
    screen.muted = true;
    screen.removeAttribute("src");
    screen.srcObject = stream;
    await screen.play();
    recorder.start(1000);
    timer = setTimeout(() => recorder.state === "recording" && recorder.stop(), most);
    says.textContent = box.dataset.recording;
    start.hidden = true;
    stop.hidden = false;
    stop.focus();
  });
  stop.addEventListener("click", () => recorder.stop());
}
