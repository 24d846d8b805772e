// Keys and ticks of what needs verification; the page works without them, too.
document.addEventListener("DOMContentLoaded", () => {
  document.documentElement.classList.add("pl-scripted");
  const all = document.querySelector("[data-ticks]");
  if (all) {
    const boxes = () => document.querySelectorAll(`input[type=checkbox][name="${all.dataset.ticks}"]`);
    all.addEventListener("change", () => { for (const box of boxes()) box.checked = all.checked; });
  }

  // What is opened to write in is written in at once.
  for (const details of document.querySelectorAll("details.pl-refutes")) {
    details.addEventListener("toggle", () => {
      if (details.open) details.querySelector("input[type=text], textarea").focus();
    });
  }

  // Lines: walked with j and k, ticked with x, confirmed with s.
  const lines = [...document.querySelectorAll("[data-needs] > [data-line]")];
  let at = -1;
  const go = (step) => {
    if (at >= 0) lines[at].classList.remove("pl-at");
    at = Math.min(Math.max(at + step, 0), lines.length - 1);
    lines[at].classList.add("pl-at");
    lines[at].querySelector("[data-opens-line]").focus();
    lines[at].scrollIntoView({ block: "nearest" });
  };
  const click = (what) => { if (at >= 0) lines[at].querySelector(what)?.click(); };
  const keys = {
    j: () => go(1),
    k: () => go(-1),
    x: () => click("input[type=checkbox]"),
    s: () => click("[data-confirms]"),
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || !lines.length) return;
    if (event.target.closest("input:not([type=checkbox]), textarea, select")) return;
    const act = keys[event.key.toLowerCase()];
    if (act) { event.preventDefault(); act(); }
  });
});
