// The page: reads references, lets people correct them on the board, saves and downloads.

import { goTo, key, references, start, step } from "./board.js";
import { byId, complain, h, save as saveFile, say } from "./dom.js";
import { payload, record } from "./model.js";
import { onToken, post, request } from "./service.js";
import { Words } from "./words.js";

// References that are sent at once.
const BATCH = 40;
const EXAMPLE = [
  "Quell, A. & van der Moor, B. (2016). Paper tides in the northern lakes. Journal of Invented Waters, 12(3), 45–67. https://doi.org/10.5555/jiw.2016.0123",
  "Solano P, Wickersly GH. Moss clocks: how slow things tell time. 2nd ed. Saltmarsh: Heron & Daughters; 2009.",
  "[3] M. Adeyo and K. Ilves, “Bell frogs at night,” in Proc. 4th Conf. Imaginary Acoustics, Lumen, 2019, pp. 101–108.",
].join("\n");


let settings = null;
let reading = null;     // the AbortController of references that are being read

// ---------------------------------------------------------------- reading

async function read(event) {
  event?.preventDefault();
  const lines = byId("input").value.split("\n").map((line) => line.trim()).filter(Boolean);
  if (!lines.length) { byId("input").focus(); return; }
  const done = await reads(async (take) => {
    for (let at = 0; at < lines.length; at += BATCH) {
      say(`Reading ${Math.min(at + BATCH, lines.length)} of ${lines.length} references`);
      await take(JSON.stringify(lines.slice(at, at + BATCH)), "application/json");
    }
  });
  if (done) byId("input").value = "";
}

// Unless another name is given, references of a PDF belong to the article of that file.
const readPdf = (file) => file && reads((take) => {
  say(`Reading ${file.name}`);
  return take(file, "application/pdf");
}, file.name);

/**
 * Run `job`, which gives bodies to `take` to have them read; what is read is in the list at once, also if
 * one stops or the service fails later. Returns whether all was read.
 */
async function reads(job, article = null) {
  reading?.abort();
  reading = new AbortController();
  const { signal } = reading;
  const ids = [];
  let given = 0, failed = null;
  complain("");
  document.body.classList.add("busy");
  try {
    await job(async (body, type) => {
      const found = await annotate(body, type, signal);
      given += found.length;
      ids.push(...references.add(found.map((one) => about(one, article))));
    });
  } catch (error) {
    failed = error;
  }
  document.body.classList.remove("busy");
  if (failed && failed.name !== "AbortError") complain(failed.message);
  const already = given - ids.length;
  say(`${count(ids.length, "reference")} read${already ? `, ${already} in the list already` : ""}`);
  byId("adding").open = Boolean(failed);
  if (ids.length) goTo(ids[0]);
  return !failed;
}

const count = (number, name) => `${number} ${name}${number === 1 ? "" : "s"}`;

async function annotate(body, type, signal) {
  const response = await request("annotate", {
    method: "POST", body, signal, headers: { "Content-Type": type, Accept: "application/json" },
  });
  const { system, references: found } = await response.json();
  return found.map((one) => ({ ...one, system }));
}

/** A reference with what was said about the whole list. */
const about = (one, article) => ({
  ...one,
  article: byId("article").value.trim() || article,
  licence: byId("licence").value.trim() || null,
});

// ---------------------------------------------------------------- saving and downloading

async function save() {
  const changes = references.unsaved();
  complain("");
  try {
    for (let at = 0; at < changes.references.length || at === 0; at += BATCH) {
      const part = changes.references.slice(at, at + BATCH);
      const forget = at === 0 ? changes.forget : [];
      await post("corrections", { references: part.map(record), forget });
      references.noteSaved({ references: part, forget });
    }
    say("Saved");
  } catch (error) {
    complain(error.message);
  }
}

async function download(accept, name) {
  const rows = accept === "application/x-ndjson";
  const chosen = references.list.filter((ref) => !rows || ref.accepted);
  complain("");
  if (!chosen.length) { complain("No reference is accepted yet, so there are no rows to download."); return; }
  try {
    const body = { references: chosen.map(rows ? record : payload) };
    saveFile(name, await (await post("export", body, { Accept: accept })).blob());
    say(`Downloaded ${name}`);
  } catch (error) {
    complain(error.message);
  }
}

// ---------------------------------------------------------------- beginning

function pressed(event) {
  const typing = event.target.closest?.("textarea, input");
  const command = event.ctrlKey || event.metaKey;
  const letter = event.key.toLowerCase();
  let done = true;
  if (command && letter === "z" && !typing) step(event.shiftKey ? "redo" : "undo");
  else if (command && letter === "y" && !typing) step("redo");
  else if (command && letter === "s" && settings.saves) save();
  else if (command && letter === "enter" && typing === byId("input")) read();
  else done = key(event);
  if (done) event.preventDefault();
}


function askForToken() {
  const dialog = byId("token");
  dialog.returnValue = "";
  dialog.querySelector("input").value = "";
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () =>
    resolve(dialog.returnValue === "ok" ? dialog.querySelector("input").value : null), { once: true }));
}

function listen() {
  byId("add").addEventListener("submit", read);
  byId("example").addEventListener("click", () => { byId("input").value = EXAMPLE; byId("input").focus(); });
  byId("pdf").addEventListener("change", (event) => { readPdf(event.target.files[0]); event.target.value = ""; });
  byId("stop").addEventListener("click", () => reading?.abort());
  byId("save").addEventListener("click", save);
  for (const button of document.querySelectorAll("[data-accept]"))
    button.addEventListener("click", () => {
      byId("download").open = false;
      download(button.dataset.accept, button.dataset.name);
    });
  document.addEventListener("keydown", pressed);
  document.addEventListener("click", (event) => {
    if (!byId("download").contains(event.target)) byId("download").open = false;
  });
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => { event.preventDefault(); readPdf(event.dataTransfer.files[0]); });
  addEventListener("beforeunload", (event) => {
    const { references: changed, forget } = references.unsaved();
    if (changed.length + forget.length) event.preventDefault();
  });
}

function drawLegend(words) {
  byId("legend").append(...words.families.filter(([, , fields]) => fields.length).map(([family, name]) =>
    h("li", {}, h("span", { class: "field", "data-family": family }, name))));
}

async function begin() {
  onToken(askForToken);
  settings = await (await request("page/settings.json")).json();
  const words = new Words(settings);
  drawLegend(words);
  document.body.classList.toggle("saves", settings.saves);
  start(words);
  listen();
  if (settings.saves) {
    const { references: found } = await (await request("corrections")).json();
    references.add(found, { saved: true });
  }
  byId("adding").open = references.list.length === 0;
}

begin().catch((error) => complain(error.message));
