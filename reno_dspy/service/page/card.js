// One reference: its text with coloured fields, and under it the editor of the field that is open.

import { choice, h } from "./dom.js";
import { valueOf } from "./model.js";

// A field is marked that its system is less sure of; a reference, if it is likely that some field is wrong.
const UNSURE = 0.8;
const UNSURE_WHOLE = 0.5;

export const isUnsure = (ref) =>
  !ref.accepted && (ref.error !== null || isUnsureWhole(ref) || ref.spans.some(isUnsureSpan));

const isUnsureSpan = (span) => span.confidence !== null && span.confidence < UNSURE;
const isUnsureWhole = (ref) => ref.confidence !== null && ref.confidence < UNSURE_WHOLE;

const percent = (confidence) => `${Math.round(confidence * 100)}% sure`;

/**
 * The card of `ref`. `open` is what is edited of it: { index } of a span, or { range } of a new one, or null.
 * `act` has the actions; `words` the vocabulary.
 */
export function card(ref, number, open, words, act) {
  const unsure = isUnsure(ref);
  return h("li", { class: "card", id: `reference-${ref.id}`, "data-id": ref.id,
                   "data-accepted": ref.accepted, "data-unsure": unsure },
    head(ref, number, words, act),
    text(ref, number, open, words),
    ref.error ? h("p", { class: "problem" }, ref.error) : null,
    open ? editor(ref, open, words, act) : null);
}

function head(ref, number, words, act) {
  const types = [["", "no type"], ...words.types.map((name) => [name, words.type(name)])];
  return h("div", { class: "head" },
    h("h3", {}, h("span", { class: "sr" }, "Reference "), String(number)),
    choice({ class: "type", "aria-label": `Publication type of reference ${number}`, "data-key": "type",
             onchange: (event) => act.setType(ref.id, event.target.value || null) },
      types, ref.type ?? ""),
    ref.accepted ? null : doubts(ref),
    h("span", { class: "space" }),
    h("button", { type: "button", class: "quiet", "data-key": "add",
                  "aria-label": `Add field to reference ${number}`,
                  onclick: () => act.openNew(ref.id) }, ...labelled("Add field", "+")),
    h("button", { type: "button", class: "quiet", "data-key": "remove",
                  "aria-label": `Remove reference ${number} from the list`,
                  onclick: () => act.removeReference(ref.id) }, ...labelled("Remove", "×")),
    h("button", { type: "button", class: "accept", "data-key": "accept", "aria-pressed": String(ref.accepted),
                  "aria-label": `Accept reference ${number}`,
                  onclick: () => act.accept(ref.id) }, ref.accepted ? "Accepted" : "Accept"));
}

/** How many fields are unsure; or, where none is, that a field may be missing or wrong. */
function doubts(ref) {
  const count = ref.spans.filter(isUnsureSpan).length;
  if (!count && !isUnsureWhole(ref)) return null;
  return h("span", { class: "doubts" }, h("span", { class: "badge", "aria-hidden": "true" }, "?"),
    count ? String(count) : "", h("span", { class: "wide" }, count ? " unsure" : "check all fields"));
}

/** What a button shows: words, or on a small screen a sign. Its aria-label is read in any case. */
const labelled = (text, sign) =>
  [h("span", { class: "wide" }, text), h("span", { class: "narrow", "aria-hidden": "true" }, sign)];

function text(ref, number, open, words) {
  const pieces = [];
  let at = 0;
  const plain = (end) => { pieces.push(...unmarked(ref, at, end, open)); at = end; };
  ref.spans.forEach((span, index) => {
    plain(span.start);
    pieces.push(marked(ref, span, index, open, words));
    at = span.end;
  });
  plain(ref.points.length);
  return h("p", { class: "text", role: "group", lang: "", "aria-label": `Fields of reference ${number}`,
                  "aria-describedby": "keys" }, ...pieces);
}

/** The characters [start, end), which no field has; those of a field that is being added stand out. */
function unmarked(ref, start, end, open) {
  const range = open?.range;
  if (!range || range.end <= start || range.start >= end) return [valueOf(ref, { start, end })];
  const from = Math.max(start, range.start), to = Math.min(end, range.end);
  return [valueOf(ref, { start, end: from }), h("mark", {}, valueOf(ref, { start: from, end: to })),
    valueOf(ref, { start: to, end })];
}

function marked(ref, span, index, open, words) {
  const unsure = !ref.accepted && isUnsureSpan(span);
  const name = words.spoken(span);
  const covered = open?.range && open.range.start < span.end && open.range.end > span.start;
  const active = open?.index === index;
  return h("span", {
    class: `field${unsure ? " unsure" : ""}${active ? " active" : ""}${covered ? " covered" : ""}`,
    role: "button", tabindex: index === (open?.index ?? 0) ? 0 : -1, "data-key": `span-${index}`,
    "data-index": index, "data-family": words.family(span.field), "aria-expanded": String(active),
    "data-name": unsure ? `${name}, ${percent(span.confidence)}` : name,
    "aria-label": `${name}: ${valueOf(ref, span)}${unsure ? `, unsure, ${percent(span.confidence)}` : ""}`,
  }, valueOf(ref, span));
}

// ---------------------------------------------------------------- the editor

function editor(ref, open, words, act) {
  const span = open.range ?? ref.spans[open.index];
  const isNew = Boolean(open.range);
  const title = isNew ? "New field" : words.spoken(span);
  return h("div", { class: "editor", role: "group", "aria-label": isNew ? "New field" : `Edit ${title}` },
    h("p", { class: "value" },
      h("strong", {}, title), " ", h("q", {}, valueOf(ref, span)),
      span.confidence == null ? null
        : h("span", { class: isUnsureSpan(span) ? "doubts" : "sure" }, percent(span.confidence))),
    fields(ref, span, words, act),
    h("div", { class: "row" }, border("start", "Start", act), border("end", "End", act),
      h("span", { class: "space" }),
      isNew ? null : h("button", { type: "button", class: "danger", "data-key": "delete",
        onclick: () => act.removeSpan() }, "Remove field"),
      h("button", { type: "button", "data-key": "done", onclick: () => act.close() },
        isNew ? "Cancel" : "Done")));
}

function fields(ref, span, words, act) {
  const chip = (name) =>
    h("button", { type: "button", class: "chip", "data-family": words.family(name), "data-key": `chip-${name}`,
                  "aria-pressed": String(span.field === name), onclick: () => act.setField(name) },
      words.field(name));
  const rest = words.families
    .map(([, title, names]) => [title, names.filter((name) => !words.common.includes(name))
      .map((name) => [name, words.field(name)])])
    .filter(([, options]) => options.length);
  const other = words.common.includes(span.field) ? "" : span.field ?? "";
  const roles = words.roles(span.field);
  return h("div", { class: "fields", role: "group", "aria-label": "Field" },
    ...words.common.map(chip),
    choice({ "aria-label": "Other field", "data-key": "other",
             onchange: (event) => event.target.value && act.setField(event.target.value) },
      [["", "other …"], ...rest], other),
    roles.length
      ? h("label", {}, span.field === "pub-id" ? "Kind " : "Role ",
          choice({ "data-key": "role", onchange: (event) => act.setRole(event.target.value || null) },
            [["", span.field === "pub-id" ? "by its form" : "none"],
              ...[...new Set([...roles, span.role])].filter(Boolean).map((role) => [role, role])],
            span.role ?? ""))
      : null);
}

function border(side, title, act) {
  const step = (unit, way, sign) =>
    h("button", { type: "button", "data-key": `${side}-${unit}-${way}`,
                  "aria-label": `${title} one ${unit} ${way < 0 ? "back" : "on"}`,
                  title: `${title}: one ${unit} ${way < 0 ? "back" : "on"}`,
                  onclick: () => act.move(side, unit, way) }, sign);
  return h("div", { class: "border", role: "group", "aria-label": title },
    h("span", { "aria-hidden": "true" }, title),
    step("word", -1, "«"), step("character", -1, "‹"), step("character", 1, "›"), step("word", 1, "»"));
}
