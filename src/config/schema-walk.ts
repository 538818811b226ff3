import { z } from "zod";
import { fileSchema } from "./schema/file.ts";
import { HIDDEN, type OptionText, optionTexts, secret } from "./schema/values.ts";
import type { KeyPath } from "./value-tree.ts";

/** Looks up the schema's knowledge of a place in the file, for messages and for the test of the shipped file. */

function unwrap(schema: unknown): unknown {
  let inner = schema;
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodDefault || inner instanceof z.ZodPrefault)
    inner = inner.unwrap();
  return inner;
}

function schemaAt(path: KeyPath): unknown {
  let schema: unknown = fileSchema;
  for (const part of path) {
    if (schema instanceof z.ZodRecord) schema = schema.valueType;
    else if (typeof part === "number") schema = schema instanceof z.ZodArray ? schema.element : undefined;
    else
      schema =
        schema instanceof z.ZodObject && Object.hasOwn(schema.shape, part) ? schema.shape[part] : undefined;
    schema = unwrap(schema);
  }
  return schema;
}

/** Names of a table's keys; empty if the schema has no such table. */
export function knownKeys(path: KeyPath): string[] {
  const schema = schemaAt(path);
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}

/** Whether people choose the table's name, as in `[models."NAME"]`. */
export function isNamedTable(path: KeyPath): boolean {
  return schemaAt(path.slice(0, -1)) instanceof z.ZodRecord;
}

/** Completes "expected: …". */
export function expectationAt(path: KeyPath): string | null {
  const schema = schemaAt(path);
  return schema instanceof z.ZodType ? (schema.description ?? null) : null;
}

/** A key whose values never show, in any table. */
export function isSecretPath(path: KeyPath): boolean {
  const key = path.findLast((part) => typeof part === "string");
  return isUnderSecret(path) || (typeof key === "string" && secretKeys().has(key));
}

/** A name that people choose has no schema of its own: its table decides. */
function isUnderSecret(path: KeyPath): boolean {
  return HIDDEN.has(schemaAt(path));
}

function secretKeys(): ReadonlySet<unknown> {
  return new Set(
    leafPaths()
      .filter((path) => isUnderSecret(path) || isUnderSecret([...path, 0]))
      .map((path) => path.at(-1)),
  );
}

/** The options of a table that name variables of secrets. */
export function secretOptions(table: KeyPath): string[] {
  return knownKeys(table).filter((key) => schemaAt([...table, key]) === secret);
}

/** Whether a change of this option takes effect only at the next start. */
export function isForStart(path: KeyPath): boolean {
  return textAt(path)?.isForStart === true;
}

/** The key that switches a table on; undefined: the table is never off, or no table. */
export function switchOf(table: KeyPath): string | undefined {
  return knownKeys(table).find((key) => textAt([...table, key])?.isSwitch === true);
}

function textAt(path: KeyPath): OptionText | undefined {
  const own = ownAt(path);
  return own === undefined ? undefined : optionTexts.get(own);
}

/** An option's default in the file's form; undefined: none. */
export function defaultAt(path: KeyPath): unknown {
  const own = ownAt(path);
  return own instanceof z.ZodDefault ? own.def.defaultValue : undefined;
}

/** The schema of a key of a table, with its default. */
function ownAt(path: KeyPath): z.core.$ZodType | undefined {
  const around = schemaAt(path.slice(0, -1));
  const key = path.at(-1);
  return around instanceof z.ZodObject && typeof key === "string" ? around.shape[key] : undefined;
}

/** Every key that is no table of options, as a path; a place in a list is 0, and a name that people choose is NAME. */
export function leafPaths(path: KeyPath = []): KeyPath[] {
  const schema = schemaAt(path);
  if (schema instanceof z.ZodObject) return knownKeys(path).flatMap((key) => leafPaths([...path, key]));
  if (schema instanceof z.ZodArray && schemaAt([...path, 0]) instanceof z.ZodObject)
    return leafPaths([...path, 0]);
  if (schema instanceof z.ZodRecord && schemaAt([...path, "NAME"]) instanceof z.ZodObject)
    return leafPaths([...path, "NAME"]);
  return [path];
}

/** Whether the last part of a dotted key is a known key whose value is no secret. */
export function isPublicKeyName(dotted: string): boolean {
  const key = dotted.split(".").at(-1) ?? "";
  return !secretKeys().has(key) && leafPaths().some((path) => path.at(-1) === key);
}
