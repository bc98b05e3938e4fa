// References with their marked fields, and every change to them, with undo. No DOM here.
//
// Positions are characters as Python counts them: code points, not the halves that JavaScript strings
// have of some. A reference is never changed, only replaced, so that undo keeps the old one.

const words = new Intl.Segmenter(undefined, { granularity: "word" });
const letters = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** A reference as it is shown. `saved` is what of it is on the server: the text of `stateOf`, or null. */
export function reference(id, given) {
  const points = Array.from(given.text);
  return {
    id,
    text: given.text,
    points,
    type: given.publication_type ?? null,
    spans: (given.spans ?? []).map(span).sort((a, b) => a.start - b.start),
    accepted: given.accepted ?? false,
    confidence: given.confidence ?? null,  // of the whole, while nobody has changed a field
    article: given.article ?? null,
    licence: given.licence ?? null,
    system: given.system ?? null,
    error: given.error ?? null,
  };
}

const span = ({ start, end, field, role, confidence }) =>
  ({ start, end, field, role: role ?? null, confidence: confidence ?? null });

/** What is saved or converted of a reference. */
export const payload = (ref) => ({
  text: ref.text,
  publication_type: ref.type,
  spans: ref.spans,
});

export const record = (ref) => ({
  ...payload(ref),
  accepted: ref.accepted,
  confidence: ref.confidence,
  article: ref.article,
  licence: ref.licence,
  system: ref.system,
});

export const stateOf = (ref) => JSON.stringify(record(ref));

export const valueOf = (ref, { start, end }) => ref.points.slice(start, end).join("");

/** Letters and digits only: two references with the same ones are the same. */
export const folded = (text) =>
  text.normalize("NFC").toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "") || text;

// ---------------------------------------------------------------- spans

/** `ref` with `added` instead of the span numbered `index` (none: it is new); others give way to it. */
export function withSpan(ref, added, index = null) {
  const others = ref.spans.filter((_, i) => i !== index).flatMap((one) => left(ref, one, added));
  const spans = [...others, added].sort((a, b) => a.start - b.start);
  return { ...ref, spans, confidence: null };
}

export const withoutSpan = (ref, index) =>
  ({ ...ref, spans: ref.spans.filter((_, i) => i !== index), confidence: null });

/** What is left of the span `one` under `added`: nothing, or one piece without white space at its ends. */
function left(ref, one, added) {
  if (one.end <= added.start || one.start >= added.end) return [one];
  const piece = one.start < added.start
    ? { ...one, end: added.start, confidence: null }
    : { ...one, start: added.end, confidence: null };
  const kept = trimmed(ref, piece);
  return kept.start < kept.end ? [kept] : [];
}

export function trimmed(ref, { start, end, ...rest }) {
  const blank = (i) => /\s/u.test(ref.points[i]);
  while (start < end && blank(start)) start += 1;
  while (start < end && blank(end - 1)) end -= 1;
  return { start, end, ...rest };
}

/** Where the border `side` of `range` stands after a step of `unit` ("character" or "word") to `way`. */
export function moved(ref, range, side, unit, way) {
  const stops = stopsOf(ref, unit, side);
  const at = range[side];
  const next = way > 0 ? stops.find((stop) => stop > at) : stops.findLast((stop) => stop < at);
  const place = next ?? (way > 0 ? ref.points.length : 0);
  const result = { ...range, [side]: place };
  return result.start < result.end ? result : range;
}

/** The first word behind `after` that no field has; where every word has one, the first word of all. */
export function freeRange(ref, after = 0) {
  const taken = (start, end) => ref.spans.some((one) => one.start < end && one.end > start);
  const all = wordsOf(ref), free = all.filter(([start, end]) => !taken(start, end));
  const [start, end] =
    free.find(([from]) => from >= after) ?? free[0] ?? all[0] ?? [0, ref.points.length];
  return { start, end };
}

const stops = new WeakMap();

function stopsOf(ref, unit, side) {
  if (!stops.has(ref.points)) stops.set(ref.points, {});
  const known = stops.get(ref.points);
  const name = unit + side;
  known[name] ??= unit === "character"
    // No value begins or ends with white space.
    ? segmentsOf(ref, letters).filter(({ start }) => !/\s/u.test(ref.points[start]))
      .map(({ start, end }) => (side === "start" ? start : end))
    : wordsOf(ref).map(([start, end]) => (side === "start" ? start : end));
  return known[name];
}

const wordsOf = (ref) =>
  segmentsOf(ref, words).filter((one) => one.isWordLike).map((one) => [one.start, one.end]);

function segmentsOf(ref, segmenter) {
  let start = 0;
  return Array.from(segmenter.segment(ref.text), ({ segment, isWordLike }) => {
    const end = start + Array.from(segment).length;
    const found = { start, end, isWordLike };
    start = end;
    return found;
  });
}

// ---------------------------------------------------------------- the list

/** The list of references with its history. `changed(ids)` is called after every change. */
export class References {
  #all = new Map();
  #saved = new Map();  // id -> what is on the server
  #done = [];
  #undone = [];
  #next = 1;

  constructor(changed) {
    this.changed = changed;
  }

  get list() { return [...this.#all.values()]; }
  get(id) { return this.#all.get(id); }
  get canUndo() { return this.#done.length > 0; }
  get canRedo() { return this.#undone.length > 0; }

  /** Add references; those that are there already are not added again. Returns the ids of the new ones. */
  add(given, { saved = false } = {}) {
    const known = new Set(this.list.map((ref) => folded(ref.text)));
    const ids = [];
    for (const one of given) {
      if (known.has(folded(one.text))) continue;
      known.add(folded(one.text));
      const ref = reference(this.#next++, one);
      this.#all.set(ref.id, ref);
      if (saved) this.#saved.set(ref.id, { text: ref.text, state: stateOf(ref) });
      ids.push(ref.id);
    }
    this.changed(ids);
    return ids;
  }

  /** Replace a reference by `after` (null: remove it). Changes of one `kind` in a row are one step. */
  change(id, after, kind = null) {
    const before = this.#all.get(id);
    if (after && stateOf(before) === stateOf(after)) return;
    const last = this.#done.at(-1);
    if (kind && last?.kind === kind && last.id === id) last.after = after;
    else this.#done.push({ id, before, after, kind });
    this.#undone = [];
    this.#put(id, after);
  }

  /** Undo or redo the last step; returns the id of its reference, or null. */
  undo() { return this.#step(this.#done, this.#undone, "before"); }
  redo() { return this.#step(this.#undone, this.#done, "after"); }

  #step(from, to, which) {
    const step = from.pop();
    if (!step) return null;
    to.push({ ...step, kind: null });
    this.#put(step.id, step[which]);
    return step.id;
  }

  #put(id, ref) {
    if (ref) this.#all.set(id, ref);
    else this.#all.delete(id);
    // A removed one comes back to its place.
    this.#all = new Map([...this.#all].sort(([a], [b]) => a - b));
    this.changed([id]);
  }

  /** What Save has to send: references that differ from what is saved, and texts of removed ones. */
  unsaved() {
    const references = this.list.filter((ref) => this.#saved.get(ref.id)?.state !== stateOf(ref));
    const forget = [...this.#saved].filter(([id]) => !this.#all.has(id)).map(([, { text }]) => text);
    return { references, forget };
  }

  /** Note that what `unsaved` gave is saved now. */
  noteSaved({ references, forget }) {
    for (const ref of references) this.#saved.set(ref.id, { text: ref.text, state: stateOf(ref) });
    const gone = new Set(forget);
    for (const [id, { text }] of this.#saved)
      if (gone.has(text) && !this.#all.has(id)) this.#saved.delete(id);
    this.changed([]);
  }
}
