// What our own pages do beside links and forms; without it they work too.
htmx.config.includeIndicatorStyles = false;  // it would write a style into the page
document.addEventListener("DOMContentLoaded", () => {
  // No style in a page counts, so what is as long as a number says so in an attribute.
  for (const bar of document.querySelectorAll("[data-width]")) bar.style.width = `${bar.dataset.width}%`;
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", async () => {
      const source = document.getElementById(button.dataset.copy);
      const before = button.textContent;
      try {
        await navigator.clipboard.writeText(source.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(source);
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = before; }, 2000);
    });
  }
  // Loading the page again must not make another one.
  const once = document.querySelector("[data-shown-once]");
  if (once) history.replaceState(null, "", once.dataset.onward);

  for (const form of document.querySelectorAll("[data-submit-on-change]")) {
    form.addEventListener("change", (event) => {
      if (event.target.tagName === "SELECT") form.requestSubmit();
    });
    // An empty choice has no place in the address.
    form.addEventListener("submit", () => {
      for (const field of form.elements) if (field.name && !field.value) field.disabled = true;
    });
    addEventListener("pageshow", () => { for (const field of form.elements) field.disabled = false; });
  }
  // A second click sends nothing a second time.
  for (const form of document.querySelectorAll("form[method=post]")) {
    form.addEventListener("submit", (event) => {
      if (form.dataset.sent) event.preventDefault();
      form.dataset.sent = "yes";
    });
  }
  addEventListener("pageshow", () => { for (const form of document.forms) delete form.dataset.sent; });
});
