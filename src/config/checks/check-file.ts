import type { z } from "zod";
import { nearestName } from "../nearest-name.ts";
import { configProblem, type ConfigProblem, type ProblemFields } from "../config-error.ts";
import { describeValue, redact } from "../redact.ts";
import { fileSchema, type FileConfig } from "../schema/file.ts";
import { expectationAt, isNamedTable, isSecretPath, knownKeys, leafPaths } from "../schema-walk.ts";
import type { TomlDocument } from "../toml-document.ts";
import { copyTree, emptyTable, formatPath, isTable, removeAt, valueAt, type KeyPath } from "../value-tree.ts";

export interface CheckedFile {
  /** The file without the keys that have problems, so that the rest can still be checked. */
  readonly config: FileConfig;
  readonly problems: readonly ConfigProblem[];
  /** Whether there is a problem at this place, below it, or in a table around it. */
  isBroken(path: KeyPath): boolean;
}

/** Makes problems with the place of a key in the file. */
export type ProblemAt = (path: KeyPath, fields: ProblemFields) => ConfigProblem;

export function problemsIn(document: TomlDocument, file: string): ProblemAt {
  return (path, fields) => {
    const place = document.locate(path);
    return configProblem({
      file,
      line: place?.line ?? null,
      column: place?.column ?? null,
      key: redact(nameWithAgent(path, document.value)),
      ...fields,
    });
  };
}

/** `agents[1].model (agent "helper")`, since nobody counts tables. */
function nameWithAgent(path: KeyPath, root: unknown): string {
  const name = formatPath(path);
  const id = path[0] === "agents" ? valueAt(root, [...path.slice(0, 2), "id"]) : undefined;
  const isId = typeof id === "string" && /^[\w-]{1,63}$/.test(id) && path.at(-1) !== "id";
  return isId ? `${name} (agent "${id}")` : name;
}

/** Without a file, a problem has no place. */
export const withoutPlace: ProblemAt = (_path, fields) => configProblem(fields);

export function checkFile(document: TomlDocument, problemAt: ProblemAt): CheckedFile {
  const { value } = document;
  if (isFileConfig(value)) return { config: value, problems: [], isBroken: () => false };
  const found = fileSchema.safeParse(value).error?.issues.flatMap(placesOf) ?? [];
  // A value may fail several checks.
  const issues = [...new Map(found.map((issue) => [formatPath(issue.path), issue])).values()];
  const problems = issues.map((issue) => toProblem(issue, document.value, problemAt));
  const isBroken = (path: KeyPath): boolean =>
    issues.some((issue) => isPrefix(issue.path, path) || isPrefix(path, issue.path));
  const rest = withoutIssues(document.value, issues);
  // Remaining failures are in the list of problems already.
  return { config: isFileConfig(rest) ? rest : {}, problems, isBroken };
}

/** Whether the schema accepts a value. The value itself stays without defaults, so that later checks know what the file sets. */
function isFileConfig(value: unknown): value is FileConfig {
  return fileSchema.safeParse(value).success;
}

interface Issue {
  readonly path: KeyPath;
  readonly isUnknownKey: boolean;
}

function placesOf(issue: z.core.$ZodIssue): Issue[] {
  const path = issue.path.filter((part) => typeof part !== "symbol");
  if (issue.code !== "unrecognized_keys") return [{ path, isUnknownKey: false }];
  return issue.keys.map((key) => ({ path: [...path, key], isUnknownKey: true }));
}

function toProblem(issue: Issue, root: unknown, problemAt: ProblemAt): ConfigProblem {
  const found = valueAt(root, issue.path);
  if (issue.isUnknownKey) return unknownKey(issue.path, found, problemAt);
  const isHidden = typeof found === "string" && isSecretPath(issue.path);
  return problemAt(issue.path, {
    message: found === undefined ? "this key is missing" : "this value cannot be used",
    expected: expectationAt(issue.path),
    found: isHidden ? "a text that is not shown here" : describeValue(found),
  });
}

function unknownKey(path: KeyPath, found: unknown, problemAt: ProblemAt): ConfigProblem {
  const key = String(path.at(-1));
  const table = path.slice(0, -1);
  if (isNamedTable(table) && isTable(found)) {
    const [named] = path.slice(table.length - 1);
    return problemAt(path, {
      message: "unknown key: a name with a dot stands in quotes",
      expected: `[${table.slice(0, -1).join(".")}.${JSON.stringify(`${named}.${key}`)}]`,
    });
  }
  const home = isTable(found) ? tableOf(key, "table") : null;
  if (home !== null)
    return problemAt(path, { message: "unknown table here", expected: tableName([...home, key]) });
  const siblings = knownKeys(table);
  const all = leafPaths().map((leaf) => String(leaf.at(-1)));
  const nearest = nearestKey(key, siblings);
  // `model = "m"` at the top belongs to an agent, and is no misspelt `models`; `[agent]` is a misspelt `[[agents]]`.
  const isElsewhere = typeof found !== "object" && all.includes(key);
  if (nearest !== null && !isElsewhere)
    return problemAt(path, { message: "unknown key", suggestion: nearest });
  const elsewhere = nearestKey(key, all);
  if (elsewhere !== null) {
    const belongs = `\`${elsewhere}\` belongs in ${tableName(tableOf(elsewhere, "key") ?? [])}`;
    if (elsewhere === key) return problemAt(path, { message: `unknown key here: ${belongs}` });
    return problemAt(path, { message: `unknown key; ${belongs}`, suggestion: elsewhere });
  }
  const known = siblings.map((name) => `\`${name}\``).join(", ");
  return problemAt(path, { message: "unknown key", expected: `one of ${known}` });
}

/** The known key closest to a misspelt one; null: none is close. */
function nearestKey(key: string, known: readonly string[]): string | null {
  return nearestName(key.replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2").replaceAll("-", "_"), known);
}

/** The table that has a key or a table of this name, the outer one if two have it; null: none has. */
function tableOf(name: string, kind: "key" | "table"): KeyPath | null {
  const [outer] = leafPaths()
    .flatMap((leaf) => {
      const place = kind === "key" ? leaf.length - 1 : leaf.slice(0, -1).indexOf(name);
      return leaf[place] === name ? [leaf.slice(0, place)] : [];
    })
    .toSorted((a, b) => a.length - b.length);
  return outer ?? null;
}

/** The name of a table as it is written in the file. */
function tableName(path: KeyPath): string {
  const tables = path.filter((part) => typeof part === "string");
  if (tables[0] === "agents") return `[[${tables.join(".")}]]`;
  if (tables[0] !== "defaults") return `[${tables.join(".")}]`;
  const inner = tables.slice(1).map((part) => `.${part}`);
  return inner.length === 0
    ? "[defaults] or [[agents]]"
    : `[defaults${inner.join("")}] or [agents${inner.join("")}]`;
}

function isPrefix(prefix: KeyPath, path: KeyPath): boolean {
  return prefix.length <= path.length && prefix.every((part, index) => part === path[index]);
}

/** A list of plain values is removed whole: a gap in it would be another problem. */
function removablePath(path: KeyPath): KeyPath {
  const isAgent = path.length === 2 && path[0] === "agents";
  return typeof path.at(-1) === "number" && !isAgent ? path.slice(0, -1) : path;
}

function withoutIssues(root: TomlDocument["value"], issues: readonly Issue[]): unknown {
  const copy = copyTree(root);
  if (!isTable(copy)) return {};
  for (const issue of issues) removeAt(copy, removablePath(issue.path));
  const agents = copy["agents"];
  if (Array.isArray(agents)) {
    // A broken agent keeps its place, so that the places of the others still match the file.
    agents.forEach((agent: unknown, index) => {
      const table = isTable(agent) ? agent : emptyTable();
      table["id"] ??= `agent-${index}-without-id`;
      agents[index] = table;
    });
  }
  return copy;
}
