// Who clicks twice sends a form once: what counts once would be refused, or done twice.
document.addEventListener("submit", (event) => {
  if (event.defaultPrevented) return; // another script sends it
  if (event.target.dataset.sent) event.preventDefault();
  event.target.dataset.sent = "yes";
});
addEventListener("pageshow", () => { // gone back to, a page may be sent again
  for (const form of document.forms) delete form.dataset.sent;
});
