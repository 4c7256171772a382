// The page works without this. It moves the plan along with the controls, watches a release under
// way, and copies.
"use strict";
document.documentElement.classList.add("with-script");

const wait = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

function live(form) {
  const into = document.getElementById(form.dataset.into);
  let asked = 0;
  async function follow() {
    const mine = ++asked;
    await wait(60); // the next movement comes first
    if (mine !== asked) return;
    into.dataset.busy = "";
    const fields = new URLSearchParams(new FormData(form));
    const answer = await fetch(`${form.dataset.live}?${fields}`);
    const words = await answer.text();
    if (mine !== asked || !answer.ok) return;
    into.innerHTML = words; // from this server alone, escaped there
    delete into.dataset.busy;
    history.replaceState(null, "", `?${fields}`);
  }
  form.addEventListener("input", follow);
  form.addEventListener("submit", (event) => { event.preventDefault(); follow(); });
}

function slide(slider) {
  const field = document.getElementById(slider.dataset.for);
  const whole = slider.dataset.for === "n";
  const set = () => { const x = Number(field.value.replaceAll(",", "")); if (x > 0) slider.value = Math.log10(x); };
  set();
  slider.hidden = false;
  field.addEventListener("input", set);
  slider.addEventListener("input", () => {
    const value = 10 ** Number(slider.value);
    field.value = whole ? Math.round(Number(value.toPrecision(2))) : Number(value.toPrecision(2));
  });
}

async function watch(bar) {
  for (;;) {
    await wait(150);
    const { done, part } = await (await fetch(bar.dataset.watch)).json();
    if (done) return location.reload();
    bar.value = part;
  }
}

function copy(button) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = "Copied";
    await wait(1500);
    button.textContent = "Copy";
  });
}

document.querySelectorAll("form[data-live]").forEach(live);
document.querySelectorAll(".slider").forEach(slide);
document.querySelectorAll("progress[data-watch]").forEach(watch);
document.querySelectorAll("button.copy").forEach(copy);
