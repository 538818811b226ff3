/** The path from the top of a file to a value: names of tables and keys, and places in lists. */
export type KeyPath = readonly (string | number)[];

export type Table = Record<string, unknown>;

/** A table without a prototype: a key such as `__proto__` is only a key. */
export function emptyTable(): Table {
  const table: Table = {};
  Object.setPrototypeOf(table, null);
  return table;
}

export function isTable(value: unknown): value is Table {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

export function valueAt(root: unknown, path: KeyPath): unknown {
  let value = root;
  for (const part of path) value = child(value, part);
  return value;
}

function child(value: unknown, part: string | number): unknown {
  if (Array.isArray(value)) return typeof part === "number" ? value[part] : undefined;
  return isTable(value) && Object.hasOwn(value, part) ? value[part] : undefined;
}

/** Sets a value, and creates missing tables and lists on the way to it. */
export function setAt(root: Table, path: KeyPath, value: unknown): void {
  let container: unknown = root;
  path.forEach((part, index) => {
    const next = path[index + 1];
    if (next === undefined) return put(container, part, value);
    if (child(container, part) === undefined)
      put(container, part, typeof next === "number" ? [] : emptyTable());
    container = child(container, part);
  });
}

function put(container: unknown, part: string | number, value: unknown): void {
  if (Array.isArray(container) && typeof part === "number") container[part] = value;
  else if (isTable(container)) container[part] = value;
}

/** Removes a key from its table. In a list the place stays, empty, so that later places keep their number. */
export function removeAt(root: Table, path: KeyPath): void {
  const last = path.at(-1);
  if (last === undefined) return;
  const container = valueAt(root, path.slice(0, -1));
  if (Array.isArray(container)) put(container, last, undefined);
  else if (isTable(container)) delete container[last];
}

/** A deep copy of tables and lists; other values are shared. */
export function copyTree(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyTree);
  if (!isTable(value)) return value;
  const copy = emptyTable();
  for (const [key, inner] of Object.entries(value)) copy[key] = copyTree(inner);
  return copy;
}

/** `agents[0].compaction.target`. A key that is no plain word is quoted. */
export function formatPath(path: KeyPath): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === "number") return `${text}[${part}]`;
    const name = /^[\w-]+$/.test(part) ? part : JSON.stringify(part);
    return text === "" ? name : `${text}.${name}`;
  }, "");
}
