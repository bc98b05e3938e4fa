// What people read: names of fields, their families (each has a colour and a line of its own), types.

const NAMES = {
  "surname": "surname", "given-names": "given names", "prefix": "prefix (Dr.)", "suffix": "suffix (Jr.)",
  "collab": "group author", "etal": "et al.", "string-name": "whole name", "person-group": "group of people",
  "trans-title": "translated title", "source": "source", "trans-source": "translated source",
  "fpage": "first page", "lpage": "last page", "elocation-id": "article number",
  "date-in-citation": "access date", "size": "number of pages", "publisher-name": "publisher",
  "publisher-loc": "publisher’s place", "conf-name": "conference", "conf-loc": "conference place",
  "conf-date": "conference date", "conf-sponsor": "conference sponsor", "pub-id": "identifier",
  "uri": "web address", "gov": "government number", "std": "standard",
};

const FAMILIES = {
  people: "People", title: "Titles", source: "Source", place: "Volume, issue, pages", date: "Dates",
  publisher: "Publisher, event", id: "Identifiers", note: "Notes",
};

const FAMILY_OF_KIND = {
  name: "people", person: "people", title: "title", translation: "title", source: "source",
  locator: "place", date: "date", publisher: "publisher", conference: "publisher", id: "id", note: "note",
};

const TYPES = {
  journal: "journal article", book: "book or chapter", confproc: "conference paper", webpage: "web page",
  newspaper: "newspaper article", data: "data set", "legal-doc": "legal document",
};

// The fields that most references have: one click away. All others are in a list.
const COMMON = [
  "surname", "given-names", "collab", "article-title", "chapter-title", "source", "volume", "issue", "fpage",
  "lpage", "year", "publisher-name", "publisher-loc", "pub-id", "uri",
];

/** The vocabulary of the service in words. */
export class Words {
  constructor({ fields, types }) {
    this.fields = fields;
    this.types = types;
    this.byName = new Map(fields.map((field) => [field.name, field]));
    this.common = COMMON.filter((name) => this.byName.has(name));
  }

  field(name) { return NAMES[name] ?? name.replaceAll("-", " "); }
  type(name) { return TYPES[name] ?? name; }
  roles(name) { return this.byName.get(name)?.roles ?? []; }
  family(name) { return FAMILY_OF_KIND[this.byName.get(name)?.kind] ?? "note"; }

  /** [family, its name, its fields], in the order of the legend. */
  get families() {
    return Object.entries(FAMILIES).map(([family, name]) =>
      [family, name, this.fields.filter((one) => this.family(one.name) === family).map((one) => one.name)]);
  }

  /** The role to begin with when a span becomes `field`: what it was, if that fits. */
  roleFor(field, role) {
    const roles = this.roles(field);
    if (!roles.length) return null;
    if (roles.includes(role)) return role;
    return roles.includes("author") ? "author" : null;
  }

  /** "surname, editor" */
  spoken({ field, role }) { return this.field(field) + (role && role !== "author" ? `, ${role}` : ""); }
}
