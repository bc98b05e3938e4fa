// The little that is needed of a page: make elements, find places in a text.

/** An element. Properties that begin with "on" are listeners, others attributes; null leaves one out. */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value != null && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

export const byId = (id) => document.getElementById(id);

/** A <select> of `options`, each [value, text], or [group, options]. */
export function choice(properties, options, chosen) {
  const option = ([value, text]) =>
    Array.isArray(text)
      ? h("optgroup", { label: value }, ...text.map(option))
      : h("option", { value, selected: value === chosen }, text);
  return h("select", properties, ...options.map(option));
}

/** The characters (code points) of `root` that are selected; null where none are, or some outside it. */
export function selectedIn(root) {
  const selection = getSelection();
  if (!selection.rangeCount || selection.isCollapsed) return null;
  const range = selection.getRangeAt(0);
  if (!root.contains(range.commonAncestorContainer)) return null;
  const before = document.createRange();
  before.selectNodeContents(root);
  before.setEnd(range.startContainer, range.startOffset);
  const start = Array.from(before.toString()).length;
  return { start, end: start + Array.from(range.toString()).length };
}

/** Note where in `root` the focus is; what is returned finds that place again once cards are drawn anew. */
export function focusIn(root) {
  const at = root.contains(document.activeElement) ? document.activeElement : null;
  const key = at?.dataset.key, id = at?.closest(".card")?.id;
  return () => { if (key) byId(id)?.querySelector(`[data-key="${key}"]`)?.focus(); };
}

/** Tell what happened, to people who see and to screen readers. */
export function say(text) {
  byId("status").textContent = text;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => { byId("status").textContent = ""; }, 6000);
}

/** Show what went wrong ("": nothing). */
export function complain(text) {
  byId("problem").textContent = text;
  byId("problem").hidden = !text;
}

export function save(name, blob) {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
