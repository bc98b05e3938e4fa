"use strict";
// Renders CSL-JSON items with citeproc-js and says where in the text each value stands.
//
//     node engine.js LOCALES FOLDER...
//
// One JSON request a line on standard input, one JSON answer a line on standard output. LOCALES holds
// locales-xx-XX.xml; citeproc is looked for in each FOLDER's node_modules.
//
// A value stands between marks of the private use area: OPEN kind MID text CLOSE. citeproc-js decorates a
// piece of its output (italics, quotation marks) after it has dealt with the punctuation around it, so a
// mark that is a decoration changes no text. Every item is rendered without marks as well, and dropped
// where the two texts differ.

const fs = require("fs");
const path = require("path");
const readline = require("readline");
const { createRequire } = require("module");

const OPEN = "\uE000", MID = "\uE001", CLOSE = "\uE002";
const MARKS = /\uE000[^\uE001]*\uE001|\uE002/g;
const [localeFolder, ...folders] = process.argv.slice(2);

function find(folders) {
  for (const folder of folders) {
    try {
      return createRequire(path.join(path.resolve(folder), "_"))("citeproc");
    } catch (error) {
      if (error.code !== "MODULE_NOT_FOUND") throw error;
    }
  }
  process.stdout.write(JSON.stringify({ missing: "citeproc" }) + "\n");
  process.exit(3);
}

const CSL = find(folders);
CSL.debug = () => {};
let marking = false;
// The variable of the number that is being written, which its tokens do not name.
let numberVariable = null;

const decorations = new Proxy({}, {
  get: (_, kind) => (state, text) =>
    marking && text && !state.tmp.just_looking ? OPEN + kind + MID + text + CLOSE : text,
});

// The first decoration is the innermost: quotation marks stay outside of the value.
function mark(blob, kind) {
  if (marking && blob && blob.decorations) blob.decorations = [["@mark", kind], ...blob.decorations];
  return blob;
}

function kindOf(token) {
  if (!token || typeof token !== "object") return null;
  if (token.name === "date-part") return `date ${token.dateVariable} ${token.strings.name}`;
  if (token.strings && token.strings.term) return `term ${token.strings.term}`;
  if (token.strings && token.strings.value) return null;
  const [variable] = token.variables_real || token.variables || [];
  return variable || numberVariable ? `var ${variable || numberVariable}` : null;
}

function wrap(object, name, make) {
  object[name] = make(object[name]);
}

wrap(CSL.Output.Queue.prototype, "append", append => function (text, token, ...rest) {
  const done = append.call(this, text, token, ...rest);
  if (marking && done) {
    const level = this.current.value();
    const blobs = Array.isArray(level) ? level : level && level.blobs;
    const kind = kindOf(token);
    if (typeof text === "string" && kind && Array.isArray(blobs)) mark(blobs[blobs.length - 1], kind);
    // Numbers are written when the queue is: they carry their own decorations.
    if (text && text.num !== undefined) mark(text, `var ${numberVariable || "citation-number"}`);
  }
  return done;
});

wrap(CSL.Node["date-part"], "build", build => function (state, target) {
  this.dateVariable = (state.build.date_variables || [])[0];
  return build.call(this, state, target);
});

wrap(CSL.Util, "outputNumericField", output => function (state, variable, id) {
  const outer = numberVariable;
  numberVariable = variable;
  try {
    return output.call(this, state, variable, id);
  } finally {
    numberVariable = outer;
  }
});

const names = CSL.NameOutput.prototype;
const parts = {
  _familyName: "family", _nonDroppingParticle: "particle", _droppingParticle: "particle",
  _nameSuffix: "suffix",
};
for (const [name, kind] of Object.entries(parts)) {
  wrap(names, name, part => function (...args) {
    return mark(part.apply(this, args), `name ${kind}`);
  });
}
wrap(names, "_givenName", given => function (...args) {
  const found = given.apply(this, args);
  mark(found.blob, "name given");
  return found;
});
wrap(names, "_renderPersonalName", render => function (variable, ...rest) {
  return mark(render.call(this, variable, ...rest), `person ${variable}`);
});
wrap(names, "_renderInstitutionName", render => function (variable, ...rest) {
  return mark(render.call(this, variable, ...rest), `body ${variable}`);
});
wrap(names, "getEtAlConfig", config => function (...args) {
  const done = config.apply(this, args);
  mark(this["et-al"].single, "etal");
  mark(this["et-al"].multiple, "etal");
  return done;
});

const locales = new Map();
function locale(language) {
  if (!locales.has(language)) {
    const file = path.join(localeFolder, `locales-${language}.xml`);
    locales.set(language, fs.existsSync(file) ? fs.readFileSync(file, "utf8") : false);
  }
  return locales.get(language);
}

function reason(error) {
  return String((error && error.message) || error).slice(0, 200);
}

function renderOne(engine, id, note) {
  const print = note
    ? () => engine.makeCitationCluster([{ id }])
    : () => (engine.makeBibliography() || [0, []])[1].join("");
  try {
    marking = false;
    engine.updateItems([id]);
    const plain = print();
    marking = true;
    const text = print();
    if (!plain.trim()) return { dropped: "nothing_printed" };
    return text.replace(MARKS, "") === plain ? { text } : { dropped: "marks_change_text" };
  } catch (error) {
    return { dropped: "render_error", error: reason(error) };
  } finally {
    marking = false;
  }
}

function answer({ style, locale: language, items, note }) {
  const byId = new Map(items.map(item => [item.id, item]));
  const system = {
    retrieveLocale: locale,
    // The engine writes into what it is given.
    retrieveItem: id => JSON.parse(JSON.stringify(byId.get(id))),
  };
  try {
    const xml = fs.readFileSync(style, "utf8");
    const engine = new CSL.Engine(system, xml, language || undefined, Boolean(language));
    engine.setOutputFormat("text");
    engine.fun.decorate["@mark"] = decorations;
    return { rendered: items.map(({ id }) => renderOne(engine, id, note)) };
  } catch (error) {
    return { error: reason(error) };
  }
}

// Whoever asked has ended, perhaps in the middle of an answer.
process.stdout.on("error", () => process.exit());
process.stdout.write(JSON.stringify({ citeproc: CSL.PROCESSOR_VERSION }) + "\n");
readline.createInterface({ input: process.stdin }).on("line", line => {
  process.stdout.write(JSON.stringify(answer(JSON.parse(line))) + "\n");
});
