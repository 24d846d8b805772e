// The desk's keys, and what makes a long queue quick; every page works without them, too.
document.addEventListener("DOMContentLoaded", () => {
  document.documentElement.classList.add("pl-scripted");
  const writing = (target) => target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]");

  // Dialogs: opened by a button, closed by Escape or their own form.
  for (const button of document.querySelectorAll("[data-opens]")) {
    const dialog = document.getElementById(button.dataset.opens);
    button.addEventListener("click", () => (dialog.open ? dialog.close() : dialog.showModal()));
  }

  // What is opened to write in is written in at once.
  for (const details of document.querySelectorAll("details.pl-merge")) {
    details.addEventListener("toggle", () => {
      if (!details.open) return;
      details.querySelector("textarea").focus();
      details.scrollIntoView({ block: "nearest" });
    });
  }
  for (const area of document.querySelectorAll("[data-sends]")) {
    const button = document.getElementById(area.dataset.sends);
    area.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) button.click();
    });
  }

  // Which specifics of either side the merged text has not, as it is written.
  for (const kept of document.querySelectorAll("[data-kept]")) {
    const area = document.getElementById(kept.dataset.kept);
    const lost = kept.querySelector("[data-lost]");
    const look = () => {
      const text = area.value.toLowerCase();
      let count = 0;
      for (const one of kept.querySelectorAll("[data-specific]")) {
        const missing = !text.includes(one.dataset.specific.toLowerCase());
        one.classList.toggle("pl-missing", missing);
        if (missing) count += 1;
      }
      lost.textContent = count ? `${count} missing` : "";
    };
    area.addEventListener("input", look);
    look();
  }

  // Choosing several.
  const boxes = (name) => [...document.querySelectorAll(`input[type=checkbox][name="${name}"]`)];
  for (const told of document.querySelectorAll("[data-chosen]")) {
    const name = told.dataset.chosen;
    const all = document.querySelector(`[data-chooses="${name}"]`);
    const tell = () => {
      const chosen = boxes(name).filter((box) => box.checked).length;
      told.textContent = chosen ? `${chosen} chosen` : "";
      all.checked = chosen > 0 && chosen === boxes(name).length;
      all.indeterminate = chosen > 0 && !all.checked;
    };
    all.addEventListener("change", () => { for (const box of boxes(name)) box.checked = all.checked; tell(); });
    document.addEventListener("change", (event) => { if (event.target.name === name) tell(); });
    addEventListener("pageshow", tell);
  }

  // Lines: walked with j and k, opened with Enter, chosen with x.
  const lines = [...document.querySelectorAll("[data-lines] > [data-line]")];
  let at = -1;
  const go = (step) => {
    if (at >= 0) lines[at].classList.remove("pl-at");
    at = Math.min(Math.max(at + step, 0), lines.length - 1);
    lines[at].classList.add("pl-at");
    lines[at].querySelector("[data-opens-line]").focus();
    lines[at].scrollIntoView({ block: "nearest" });
  };
  const onLine = {
    j: () => go(1),
    k: () => go(-1),
    x: () => { if (at >= 0) lines[at].querySelector("input[type=checkbox]")?.click(); },
  };

  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (event.key === "Escape" && writing(event.target)) { event.target.blur(); return; }
    if (writing(event.target)) return;
    const dialog = document.querySelector("dialog[open]");
    if (dialog && event.key !== "?") return;
    const key = event.key.toLowerCase();
    const meant = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
    if (meant) {
      event.preventDefault();
      meant.click();
      // Its own event of opening comes later than the next key may.
      if (meant.tagName === "SUMMARY") meant.parentElement.querySelector("textarea").focus();
    }
    else if (lines.length && onLine[key]) { event.preventDefault(); onLine[key](); }
  });
});
