import { camelCased, camelToSnake } from "./camel-case.ts";
import type { Config, ModelConfig } from "./config.ts";
import { PLATFORM_ROWS } from "../platforms/platforms.ts";
import { modelSchema } from "./schema/models.ts";
import { isForStart, switchOf } from "./schema-walk.ts";
import { isTable, type KeyPath } from "./value-tree.ts";

/** What differs between two configurations, by keys as the file has them. No value is ever told. */
export interface Changes {
  /** Takes effect in a Weir that runs. */
  readonly live: readonly string[];
  /** Takes effect at the next start. */
  readonly atStart: readonly string[];
}

/** What a configuration has under another name than the file, with the keys of that table that it is made of. */
const MADE_OF: Readonly<Record<string, readonly string[]>> = {
  host: [".listen"],
  port: [".listen"],
  // Of the embedding model: what its server calls it, and what it wants beside a key.
  sentAs: [".model"],
  serverHeaders: [".base_url"],
  // Those of a platform once more, as a list: each is an option of its own.
  secrets: [],
  ...Object.fromEntries(PLATFORM_ROWS.flatMap((row) => Object.entries(row.madeOf ?? {}))),
};
/** A table of an agent: what is a table in it has names that people choose, and is told as one. */
const IN_AN_AGENT = /^agents\.[^.]+\./;
/** What holds of a model of which the file says nothing. */
const OF_ANY_MODEL = camelCased(modelSchema.parse({}));

/**
 * The configuration that a Weir that runs can take up: that of now, but for what only a start can change by the marks of the schema. Pure.
 * @param started what it was started with
 */
export function takeUp(started: Config, next: Config): Config {
  const kept = keepMarked([], started, next);
  const models = keepMarkedOfModels(started.llm.models, next.llm.models);
  return { ...kept, agentsDir: started.agentsDir, proxies: started.proxies, llm: { ...kept.llm, models } };
}

/** A table with the values of the start where the schema says so. Lists are never kept in part. */
function keepMarked<Table extends object>(path: KeyPath, started: Table, next: Table): Table {
  const before = new Map(Object.entries(started));
  const kept = Object.entries(next).map(([key, value]): [string, unknown] => {
    const place = [...path, camelToSnake(key)];
    const was = before.get(key);
    if (isKept(path, key)) return [key, was];
    // What is off at the start stays off, and what is off in the file goes on as it was: of that the file tells nothing.
    if (switchOf(place) !== undefined && (was === null || value === null)) return [key, was];
    return [key, isTable(was) && isTable(value) ? keepMarked(place, was, value) : value];
  });
  return { ...next, ...Object.fromEntries(kept) };
}

function isKept(path: KeyPath, key: string): boolean {
  return keysOf(key).every((option) => isForStart([...path, option.slice(1)]));
}

/** Under which keys of its table the file has it. */
function keysOf(name: string): readonly string[] {
  return MADE_OF[name] ?? [`.${camelToSnake(name)}`];
}

/** What was said of a model at the start holds on where nothing is said of it any more. */
function keepMarkedOfModels(started: readonly ModelConfig[], next: readonly ModelConfig[]): ModelConfig[] {
  const names = new Set([...next, ...started].map(({ name }) => name));
  const models = Array.from(names, (name) => {
    const [was, now] = [started, next].map((all) => all.find((one) => one.name === name));
    const nothing = { name, ...OF_ANY_MODEL };
    const kept = keepMarked(["models", name], was ?? nothing, now ?? nothing);
    return now === undefined && JSON.stringify(kept) === JSON.stringify(nothing) ? [] : [kept];
  });
  return models.flat();
}

/** Pure. */
export function changesBetween(before: Config, after: Config): Changes {
  const [a, b] = [valuesOf(before), valuesOf(after)];
  const all = [...new Set([...a.keys(), ...b.keys()])];
  // Of what is off in one of them only the switch is told.
  const keys = all.filter((key) => a.get(key) !== b.get(key) && (isNamed(key) || (a.has(key) && b.has(key))));
  const named = new Set(keys.map((key) => (isOfStart(key) ? key : whole(key, a, b))));
  const atStart = [...named].filter((key) => isOfStart(key));
  return { live: [...named].filter((key) => !atStart.includes(key)), atStart };
}

function isNamed(key: string): boolean {
  return /^(?:agents|models)\./.test(key);
}

/** An agent or a model that is new or gone is told as one. */
function whole(key: string, a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): string {
  const table = /^(?:agents\.[^.]+|models\."(?:[^"\\]|\\.)*")/.exec(key)?.[0];
  if (table === undefined) return key;
  const isIn = (values: ReadonlyMap<string, string>): boolean =>
    values.keys().some((one) => one.startsWith(`${table}.`));
  return isIn(a) && isIn(b) ? key : table;
}

function isOfStart(key: string): boolean {
  const model = /^models\..*\.([a-z_]+)$/.exec(key)?.[1];
  return isForStart(model === undefined ? key.split(".") : ["models", "NAME", model]);
}

/** Each option that can differ, by its key, as a text to compare. */
function valuesOf({
  file: _file,
  agentsDir: _agentsDir,
  proxies: _proxies,
  agents,
  llm: { models, ...llm },
  ...rest
}: Config): Map<string, string> {
  const values = new Map<string, string>();
  const putAll = (path: string, table: object): void => {
    for (const [name, value] of Object.entries(table)) {
      const [option] = keysOf(name);
      if (option === undefined) continue;
      const place = `${path}${option}`.replace(/^\./, "");
      // An option may be a table of names that people choose.
      const isOption = IN_AN_AGENT.test(path) || (!(name in MADE_OF) && isForStart(place.split(".")));
      if (isTable(value) && !isOption) {
        putAll(name in MADE_OF ? path : place, value);
        continue;
      }
      const switchedOnBy = switchOf(place.split("."));
      const key = switchedOnBy === undefined ? place : `${place}.${switchedOnBy}`;
      // Several parts of one option are compared together.
      values.set(key, (values.get(key) ?? "") + (JSON.stringify(value) ?? ""));
    }
  };
  putAll("", { ...rest, llm });
  for (const { name, ...model } of models) putAll(`models.${JSON.stringify(name)}`, model);
  for (const { id, ...agent } of agents) putAll(`agents.${id}`, agent);
  return values;
}
