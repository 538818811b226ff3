import { camelCased, camelToSnake } from "./camel-case.ts";
import type { Config, ModelConfig } from "./config.ts";
import { PLATFORM_ROWS } from "../platforms/platforms.ts";
import { modelSchema } from "./schema/models.ts";
import { isForStart, switchOf } from "./schema-walk.ts";
import { isTable, type KeyPath } from "./value-tree.ts";

/** The options that differ between two configurations, by their keys in the file. Values are never shown. */
export interface Changes {
  /** Keys that take effect while Weir runs. */
  readonly live: readonly string[];
  /** Keys that take effect at the next start. */
  readonly atStart: readonly string[];
}

/** Fields of a configuration with other names in the file, each with the file's keys from which it is made. */
const MADE_OF: Readonly<Record<string, readonly string[]>> = {
  host: [".listen"],
  port: [".listen"],
  mayMove: [".listen"],
  // The name of a model with a server of its own, and its needs besides a key.
  sentAs: [".model"],
  serverHeaders: [".base_url"],
  // A platform's secrets, listed again here; each is an option of its own.
  secrets: [],
  ...Object.fromEntries(PLATFORM_ROWS.flatMap((row) => Object.entries(row.madeOf ?? {}))),
};
/** Matches the path of a table of an agent. Tables in it have names that people choose, and count as one option. */
const IN_AN_AGENT = /^agents\.[^.]+\./;
/** The settings of a model that the file does not name. */
const OF_ANY_MODEL = camelCased(modelSchema.parse({}));

/**
 * The configuration that a running Weir can take up: the new one, except for the options that the schema marks as
 * needing a start. Pure.
 * @param started the configuration at the start
 */
export function takeUp(started: Config, next: Config): Config {
  const kept = keepMarked([], started, next);
  const models = keepMarkedOfModels(started.llm.models, next.llm.models);
  return { ...kept, agentsDir: started.agentsDir, proxies: started.proxies, llm: { ...kept.llm, models } };
}

/** A table with the values of the start where the schema marks them. Lists are kept whole or not at all. */
function keepMarked<Table extends object>(path: KeyPath, started: Table, next: Table): Table {
  const before = new Map(Object.entries(started));
  const kept = Object.entries(next).map(([key, value]): [string, unknown] => {
    const place = [...path, camelToSnake(key)];
    const was = before.get(key);
    if (keysOf(key).every((option) => isForStart([...path, option.slice(1)]))) return [key, was];
    // Whatever is off at the start or in the new file keeps its old value: the file has no options for a table that is
    // off.
    if (switchOf(place) !== undefined && (was === null || value === null)) return [key, was];
    return [key, isTable(was) && isTable(value) ? keepMarked(place, was, value) : value];
  });
  return { ...next, ...Object.fromEntries(kept) };
}

/** The keys of a field in its table of the file. */
function keysOf(name: string): readonly string[] {
  return MADE_OF[name] ?? [`.${camelToSnake(name)}`];
}

/** The start's settings of a model stay if the file no longer names it. */
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

export function changesBetween(before: Config, after: Config): Changes {
  const [a, b] = [valuesOf(before), valuesOf(after)];
  const all = [...new Set([...a.keys(), ...b.keys()])];
  // If a table is off in one of them, only its switch is reported.
  const keys = all.filter(
    (key) => a.get(key) !== b.get(key) && (/^(?:agents|models)\./.test(key) || (a.has(key) && b.has(key))),
  );
  const named = new Set(keys.map((key) => (isOfStart(key) ? key : whole(key, a, b))));
  const atStart = [...named].filter((key) => isOfStart(key));
  return { live: [...named].filter((key) => !atStart.includes(key)), atStart };
}

/** A new or removed agent or model is reported as a whole. */
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

/** Each comparable option, by its key, as a text. */
function valuesOf({
  file: _file,
  home: _home,
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
