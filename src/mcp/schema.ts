import { escapeLabels } from "../context/labels.ts";
import type { ToolSpec } from "../core/context.ts";
import { storableText } from "../text/text.ts";

/** Longest schema of one tool, as JSON, in UTF-16 units; and how deep it may be. */
const LONGEST = 8000;
const DEEPEST = 16;
/** Longest explaining text in it, in UTF-16 units. */
const LONGEST_TEXT = 500;
const EXPLAINS: ReadonlySet<string> = new Set(["description", "title", "$comment"]);
const TYPES: ReadonlySet<unknown> = new Set([
  "string",
  "number",
  "integer",
  "boolean",
  "object",
  "array",
  "null",
]);
/** OpenAI and Anthropic refuse these at the top. */
const NOT_ON_TOP = ["oneOf", "anyOf", "allOf", "not", "enum", "$ref"];
/** A key of the arguments; Anthropic refuses others. */
const KEY = /^[a-zA-Z0-9_.-]{1,64}$/;

type Table = Readonly<Record<string, unknown>>;

/**
 * Why a schema of arguments cannot be sent. Providers refuse the whole request, and so every turn of every channel, for
 * one invalid tool.
 * @returns null: it can be sent
 */
export function schemaProblem(schema: unknown): string | null {
  if (!isTable(schema) || schema["type"] !== "object") return "its arguments have no schema of an object";
  if (isDeeper(schema, DEEPEST)) return `the schema of its arguments is deeper than ${DEEPEST}`;
  const { length } = JSON.stringify(schema);
  if (length > LONGEST)
    return `the schema of its arguments has ${length} characters, and may have ${LONGEST}`;
  const onTop = NOT_ON_TOP.find((key) => Object.hasOwn(schema, key));
  if (onTop !== undefined) return `the schema of its arguments has ${onTop} at its top`;
  return problemWithin(schema, { root: schema, followed: [], seen: new Set() });
}

/** The schema with cleaned explanations, and without its dialect, which would cost tokens in each request. Pure. */
export function withCleanTexts(
  schema: unknown,
  clean: (text: string, limit: number) => string,
): ToolSpec["parameters"] {
  const cleaned = cleanedTexts(schema, clean);
  const { $schema: _dialect, $id: _id, ...rest } = isTable(cleaned) ? cleaned : {};
  return { ...rest, properties: isTable(rest["properties"]) ? rest["properties"] : {} };
}

function cleanedTexts(value: unknown, clean: (text: string, limit: number) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => cleanedTexts(item, clean));
  if (!isTable(value)) return value;
  const entries = Object.entries(value).map(([key, inner]) => {
    const explains = EXPLAINS.has(key) && typeof inner === "string";
    return [key, explains ? clean(inner, LONGEST_TEXT) : cleanedTexts(inner, clean)];
  });
  // OpenAI refuses requests with a list without a type of its items.
  const isBare = value["type"] === "array" && !("items" in value) && !("prefixItems" in value);
  return Object.fromEntries(isBare ? [...entries, ["items", {}]] : entries);
}

/** One walk through a schema; a referenced part is checked once. */
interface Look {
  readonly root: Table;
  /** References on the path to this place. */
  readonly followed: readonly string[];
  readonly seen: Set<string>;
}

function problemWithin(value: unknown, look: Look): string | null {
  if (Array.isArray(value)) return firstProblem(value.map((item) => () => problemWithin(item, look)));
  if (typeof value === "string") {
    if (storableText(value) !== value) return "the schema of its arguments holds what is no text";
    return escapeLabels(value) === value
      ? null
      : "the schema of its arguments holds a label of Weir's, or characters that nobody sees";
  }
  if (!isTable(value)) return null;
  const own = problemOf(value) ?? problemOfReference(value["$ref"], look);
  if (own !== null) return own;
  return firstProblem(
    Object.entries(value).map(([key, inner]) => () => {
      if (EXPLAINS.has(key) && typeof inner === "string") return null;
      return problemWithin(key, look) ?? problemWithin(inner, look);
    }),
  );
}

function firstProblem(looks: readonly (() => string | null)[]): string | null {
  for (const look of looks) {
    const problem = look();
    if (problem !== null) return problem;
  }
  return null;
}

function problemOf(table: Table): string | null {
  const { type, properties, required } = table;
  // Under `properties`, these words are names of arguments.
  const types = typeof type === "string" ? [type] : Array.isArray(type) ? type : [];
  if (types.some((one) => !TYPES.has(one))) return "the schema of its arguments has an unknown type";
  if (isTable(properties)) {
    const key = Object.keys(properties).find((one) => !KEY.test(one));
    if (key !== undefined) return "the schema of its arguments has a key that providers refuse";
  }
  const isList = Array.isArray(required) && required.every((one) => typeof one === "string");
  if (required !== undefined && !isList && !isTable(required))
    return "the schema of its arguments has a `required` that is no list of keys";
  return null;
}

/** A reference must lead to a place in the same schema, and never back to itself. */
function problemOfReference(reference: unknown, { root, followed, seen }: Look): string | null {
  if (typeof reference !== "string") return null;
  if (!reference.startsWith("#/")) return "the schema of its arguments refers to another document";
  if (followed.includes(reference)) return "the schema of its arguments refers to itself";
  if (seen.has(reference)) return null;
  seen.add(reference);
  const target = reference
    .slice(2)
    .split("/")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce<unknown>((at, part) => (isTable(at) && Object.hasOwn(at, part) ? at[part] : undefined), root);
  if (target === undefined) return "the schema of its arguments refers to what is not there";
  if (followed.length >= DEEPEST) return `the schema of its arguments is deeper than ${DEEPEST}`;
  return problemWithin(target, { root, followed: [...followed, reference], seen });
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

export function isTable(value: unknown): value is Table {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
