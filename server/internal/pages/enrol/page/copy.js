// Buttons that copy what stands beside them.
for (const button of document.querySelectorAll("[data-copy]")) {
  if (!navigator.clipboard) break; // plain http: the text can be selected
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
      button.textContent = button.dataset.done;
    } catch {
      getSelection().selectAllChildren(document.getElementById(button.dataset.copy));
    }
  });
}
