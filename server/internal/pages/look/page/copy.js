// Buttons that copy what a field holds, or what an element says; data-copy is its id.
document.documentElement.classList.add("js");
for (const button of document.querySelectorAll("[data-copy]")) {
  if (!navigator.clipboard) break; // plain http: the text can be selected
  const label = button.textContent;
  const from = document.getElementById(button.dataset.copy);
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(from.value ?? from.textContent);
      button.textContent = button.dataset.done;
      setTimeout(() => { button.textContent = label; }, 2000);
    } catch {
      getSelection().selectAllChildren(from);
    }
  });
}
