// The list of references on the page: drawing it, and what mouse and keyboard do to it.

import { card, isUnsure } from "./card.js";
import { byId, complain, focusIn, say, selectedIn } from "./dom.js";
import { freeRange, moved, References, trimmed, valueOf, withoutSpan, withSpan } from "./model.js";

// Cards that are drawn before one asks for more.
const SCREEN = 100;

export const references = new References(drawChanged);
let words = null;       // the vocabulary
let open = null;        // the field that is edited: { id, index } or, if it is new, { id, range }
let filter = "all";
let drawn = SCREEN;
const touched = new Set();  // changed since the filter was chosen: they stay until they are accepted

/** Begin to draw and to listen. */
export function start(vocabulary) {
  words = vocabulary;
  const list = byId("list");
  list.addEventListener("click", clicked);
  list.addEventListener("pointerup", (event) => { if (event.pointerType === "mouse") setTimeout(selected); });
  for (const kind of ["mouseover", "focusin"]) list.addEventListener(kind, tip);
  for (const kind of ["mouseout", "focusout"]) list.addEventListener(kind, () => { byId("tip").hidden = true; });
  addEventListener("scroll", () => { byId("tip").hidden = true; }, { passive: true });
  listenToTouch();
  for (const button of document.querySelectorAll("[data-filter]"))
    button.addEventListener("click", () => choose(button.dataset.filter));
  byId("undo").addEventListener("click", () => step("undo"));
  byId("redo").addEventListener("click", () => step("redo"));
  byId("more").addEventListener("click", () => { drawn += SCREEN; draw(); });
  draw();
}

function choose(name) {
  close();
  filter = name;
  drawn = SCREEN;
  touched.clear();
  draw();
}

/** Show what was just read, and go there. */
export function goTo(id) {
  choose("all");
  drawn = Math.max(drawn, references.list.findIndex((ref) => ref.id === id) + SCREEN);
  draw();
  focusCard(id);
}

// ---------------------------------------------------------------- drawing

const FILTERS = { all: () => true, unsure: isUnsure, open: (ref) => !ref.accepted };

function shown() {
  const stays = (ref) => ref.id === open?.id || (touched.has(ref.id) && !ref.accepted);
  return references.list.filter((ref) => FILTERS[filter](ref) || stays(ref));
}

function draw() {
  const focusAgain = focusIn(byId("list"));
  byId("list").replaceChildren(...shown().slice(0, drawn).map(cardOf));
  drawBar();
  focusAgain();
}

function drawChanged(ids) {
  ids.forEach((id) => touched.add(id));
  const visible = new Set(shown().slice(0, drawn).map((ref) => ref.id));
  const cards = [...byId("list").children].map((one) => Number(one.dataset.id));
  const same = cards.length === visible.size && cards.every((id) => visible.has(id));
  if (!same) { draw(); return; }
  ids.filter((id) => visible.has(id)).forEach(drawCard);
  drawBar();
}

const cardOf = (ref) =>
  card(ref, numberOf(ref), open?.id === ref.id ? open : null, words, actions);

const numberOf = (ref) => references.list.findIndex((one) => one.id === ref.id) + 1;
const elementOf = (id) => byId(`reference-${id}`);

function drawCard(id) {
  const old = elementOf(id);
  if (!old) return;
  const focusAgain = focusIn(old);
  old.replaceWith(cardOf(references.get(id)));
  focusAgain();
}

function drawBar() {
  const list = references.list;
  for (const button of document.querySelectorAll("[data-filter]")) {
    button.setAttribute("aria-pressed", String(button.dataset.filter === filter));
    button.querySelector("b").textContent = list.filter(FILTERS[button.dataset.filter]).length;
  }
  const { references: changed, forget } = references.unsaved();
  const count = changed.length + forget.length;
  document.body.classList.toggle("empty", list.length === 0 && count === 0);
  byId("undo").disabled = !references.canUndo;
  byId("redo").disabled = !references.canRedo;
  byId("save").disabled = count === 0;
  byId("save").textContent = count || !list.length ? `Save${count ? ` (${count})` : ""}` : "Saved";
  byId("more").hidden = shown().length <= drawn;
  byId("nothing").hidden = shown().length > 0 || list.length === 0;
  byId("progress").textContent =
    `${list.filter((ref) => ref.accepted).length} of ${list.length} accepted`;
}

// ---------------------------------------------------------------- what a person does to a reference

const actions = {
  setType: (id, type) => references.change(id, { ...references.get(id), type }),
  accept(id) {
    const ref = references.get(id);
    const following = shown()[shown().findIndex((one) => one.id === id) + 1];
    close();
    references.change(id, { ...ref, accepted: !ref.accepted });
    say(ref.accepted ? "No longer accepted" : "Accepted");
    if (!elementOf(id)) focusCard(following?.id);
  },
  removeReference(id) {
    const following = shown()[shown().findIndex((one) => one.id === id) + 1];
    close();
    references.change(id, null);
    say("Reference removed; Undo brings it back");
    focusCard(following?.id);
  },
  openNew(id, range = null) {
    const ref = references.get(id);
    const after = open?.id === id && open.index !== undefined ? ref.spans[open.index].end : 0;
    show({ id, range: range ?? freeRange(ref, after) });
    elementOf(id).querySelector(".editor .chip").focus();
    announce();
  },
  setField(field) {
    const { ref, span } = edited();
    const role = words.roleFor(field, span.role);
    const added = { start: span.start, end: span.end, field, role, confidence: null };
    change(added, open.range ? null : `field ${open.index}`);
    const where = elementOf(ref.id).querySelector(`[data-key="chip-${field}"], [data-key="other"]`);
    where.focus();
    announce();
  },
  setRole(role) {
    change({ ...edited().span, role, confidence: null }, `role ${open.index}`);
    announce();
  },
  move(side, unit, way) {
    const { ref, span } = edited();
    const range = moved(ref, span, side, unit, way);
    if (open.range) { open.range = range; drawCard(ref.id); }
    else change({ ...range, confidence: null });
    announce();
  },
  removeSpan() {
    const { ref } = edited();
    const { index } = open;
    open = null;
    references.change(ref.id, withoutSpan(ref, index));
    focusSpan(ref.id, Math.min(index, ref.spans.length - 2));
    say("Field removed");
  },
  close,
};

/** The reference and the span or range that are edited. */
function edited() {
  const ref = references.get(open.id);
  return { ref, span: open.range ?? ref.spans[open.index] };
}

/** Put `span` where the edited one is. A field that reached another one has taken its place. */
function change(span, kind = null) {
  const { ref } = edited();
  const after = withSpan(ref, span, open.range ? null : open.index);
  open = { id: ref.id, index: after.spans.indexOf(span) };
  references.change(ref.id, after, kind);
}

function announce() {
  const { ref, span } = edited();
  say(`${span.field ? words.spoken(span) : "New field"}: ${valueOf(ref, span)}`);
}

function show(next) {
  const before = open?.id;
  open = next;
  if (before !== undefined && before !== next?.id) redrawClosed(before);
  if (next) drawCard(next.id);
  if (next) elementOf(next.id).querySelector(".editor").scrollIntoView({ block: "nearest" });
}

/** A card whose editor was closed: it goes if the filter has no place for it. */
function redrawClosed(id) {
  if (references.get(id)) drawCard(id);
  drawChanged([]);
}

function close() {
  if (!open) return;
  const { id, index } = open;
  show(null);
  redrawClosed(id);
  if (elementOf(id)?.contains(document.activeElement) || document.activeElement === document.body)
    index === undefined ? elementOf(id)?.querySelector("[data-key=add]").focus() : focusSpan(id, index);
}

function focusSpan(id, index) {
  const element = elementOf(id);
  (element?.querySelector(`[data-key="span-${index}"]`) ?? element?.querySelector("[data-key=add]"))?.focus();
}

function focusCard(id) {
  const element = elementOf(id);
  if (!element) { byId("heading").focus(); return; }
  (element.querySelector(".field[tabindex='0']") ?? element.querySelector("[data-key=accept]")).focus();
}

/** Undo or redo a step ("undo", "redo"). */
export function step(which) {
  const id = references[which]();
  if (id === null) return;
  // The history may have taken away the field that is open.
  if (open && (!references.get(open.id) || open.index >= references.get(open.id).spans.length)) open = null;
  draw();
  elementOf(id)?.scrollIntoView({ block: "nearest" });
  say(which === "undo" ? "Undone" : "Done again");
}

// ---------------------------------------------------------------- mouse and keyboard

function clicked(event) {
  const field = event.target.closest(".field");
  if (field && getSelection().isCollapsed) openField(field);
}

function openField(field) {
  const id = Number(field.closest(".card").dataset.id), index = Number(field.dataset.index);
  if (open?.id === id && open.index === index) { close(); return; }
  show({ id, index });
  focusSpan(id, index);
}

/** A finger drags the ends of a selection about; once they rest, it is made. */
function listenToTouch() {
  let touch = false, timer = 0;
  addEventListener("pointerdown", (event) => { touch = event.pointerType !== "mouse"; });
  document.addEventListener("selectionchange", () => {
    clearTimeout(timer);
    if (touch) timer = setTimeout(selected, 800);
  });
}

/** Text that was selected becomes a new field, whose name is still to choose. */
function selected() {
  const text = getSelection().anchorNode?.parentElement?.closest(".text");
  const found = text && selectedIn(text);
  if (!found) return;
  const id = Number(text.closest(".card").dataset.id);
  const range = trimmed(references.get(id), found);
  if (range.start < range.end) actions.openNew(id, range);
}

function keyOnField(event) {
  const field = event.target.closest?.(".field");
  if (!field) return false;
  const id = Number(field.closest(".card").dataset.id), index = Number(field.dataset.index);
  const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (way && (event.shiftKey || event.altKey)) {
    if (open?.id !== id || open.index !== index) show({ id, index });
    const unit = event.ctrlKey || event.metaKey ? "word" : "character";
    actions.move(event.altKey ? "start" : "end", unit, way);
    focusSpan(id, open.index);
  } else if (way) focusSpan(id, (index + way + references.get(id).spans.length) % references.get(id).spans.length);
  else if (event.key === "ArrowDown" || event.key === "ArrowUp") focusNeighbour(id, event.key === "ArrowDown" ? 1 : -1);
  else if (event.key === "Enter" || event.key === " ") openField(field);
  else if (event.key === "Delete" || event.key === "Backspace") { show({ id, index }); actions.removeSpan(); }
  else if (event.key === "a" && !event.ctrlKey && !event.metaKey) acceptAndGoOn(id);
  else if (event.key === "n" && !event.ctrlKey && !event.metaKey) { show({ id, index }); actions.openNew(id); }
  else return false;
  return true;
}

function focusNeighbour(id, way) {
  const list = shown();
  focusCard(list[list.findIndex((ref) => ref.id === id) + way]?.id ?? id);
}

function acceptAndGoOn(id) {
  const list = shown();
  const next = list[list.findIndex((ref) => ref.id === id) + 1];
  if (!references.get(id).accepted) actions.accept(id);
  focusCard(next?.id ?? id);
}

/** Whether a key meant something to the list. */
export function key(event) {
  if (event.key === "Escape" && open) close();
  else return keyOnField(event);
  return true;
}

/** The name of the field under the mouse or the focus. */
function tip(event) {
  const field = event.target.closest?.(".field");
  const box = byId("tip");
  box.hidden = !field;
  if (!field) return;
  box.textContent = field.dataset.name;
  const { left, top } = field.getClientRects()[0];
  box.style.left = `${Math.max(8, Math.min(left, document.documentElement.clientWidth - box.offsetWidth - 8))}px`;
  box.style.top = `${Math.max(4, top - box.offsetHeight - 6)}px`;
}
