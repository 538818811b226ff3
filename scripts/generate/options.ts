/** The configuration's schema as a list of tables with their options, for whatever is made of it. */
import { z } from "zod";
import { fileSchema } from "../../src/config/schema/file.ts";
import { type OptionText, optionTexts } from "../../src/config/schema/values.ts";

export interface Option {
  readonly name: string;
  readonly text: OptionText;
  /** Completes "expected: …". */
  readonly expected: string;
  /** As the file would say it; undefined: it has none. */
  readonly fallback: unknown;
  /** The same option in another table is the same schema. */
  readonly schema: unknown;
}

export interface Table {
  /** `llm`, `platforms.discord`, `agents`. */
  readonly name: string;
  readonly text: OptionText;
  /** A list of tables, `[[bindings]]`. */
  readonly isList: boolean;
  /** A table for each name that people choose, `[models."NAME"]`. */
  readonly isNamed: boolean;
  readonly options: readonly Option[];
}

const NO_TEXT: OptionText = { about: "" };

/** All tables in the order of the schema; one within another comes behind it, and one without options of its own not at all. */
export function tables(): Table[] {
  return tablesOf("", fileSchema, NO_TEXT).filter(({ options }) => options.length > 0);
}

/** A table of an agent that stands under `[defaults]` as well. */
export function isRepeated({ name, isList }: Table): boolean {
  return name.startsWith("agents.") && !isList;
}

/** Options that several tables share stand in full in the first of them. */
export function homesOf(all: readonly Table[]): ReadonlyMap<unknown, string> {
  const homes = new Map<unknown, string>();
  for (const { name, options } of all)
    for (const { schema } of options) if (!homes.has(schema)) homes.set(schema, name);
  return homes;
}

function tablesOf(name: string, schema: unknown, text: OptionText): Table[] {
  const inner = unwrapped(schema);
  const isList = inner instanceof z.ZodArray;
  const isNamed = inner instanceof z.ZodRecord;
  const shape = shapeOf(inner) ?? {};
  const entries = Object.entries(shape);
  const options = entries.flatMap(([key, of]) => (isTable(of) ? [] : [optionOf(key, of)]));
  const within = entries.flatMap(([key, of]) =>
    isTable(of) ? tablesOf(name === "" ? key : `${name}.${key}`, of, textOf(of)) : [],
  );
  return [{ name: isNamed ? `${name}."NAME"` : name, text, isList, isNamed, options }, ...within];
}

function optionOf(name: string, schema: unknown): Option {
  const type = unwrapped(schema);
  return {
    name,
    text: textOf(schema),
    expected: type instanceof z.ZodType ? (type.description ?? "") : "",
    fallback: schema instanceof z.ZodDefault ? schema.def.defaultValue : undefined,
    schema,
  };
}

function textOf(schema: unknown): OptionText {
  return schema instanceof z.ZodType ? (optionTexts.get(schema) ?? NO_TEXT) : NO_TEXT;
}

function isTable(schema: unknown): boolean {
  return shapeOf(unwrapped(schema)) !== null;
}

/** The options of a table, of those in a list, or of those with names. */
function shapeOf(schema: unknown): Readonly<Record<string, unknown>> | null {
  if (schema instanceof z.ZodArray) return shapeOf(schema.element);
  if (schema instanceof z.ZodRecord) return shapeOf(schema.valueType);
  return schema instanceof z.ZodObject ? schema.shape : null;
}

function unwrapped(schema: unknown): unknown {
  let inner = schema;
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodDefault || inner instanceof z.ZodPrefault)
    inner = inner.unwrap();
  return inner;
}

/** A value as TOML writes it. */
export function tomlValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => tomlValue(item)).join(", ")}]`;
  return JSON.stringify(value);
}
