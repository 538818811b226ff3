import { isTable } from "./value-tree.ts";

export type CamelKey<Key> = Key extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelKey<Rest> & string>}`
  : Key;

/** The same value with its keys in camel case, at any depth. */
export type CamelCased<Value> = Value extends string | number | boolean | null | undefined
  ? Value
  : Value extends readonly (infer Item)[]
    ? readonly CamelCased<Item>[]
    : { readonly [Key in keyof Value as CamelKey<Key>]: CamelCased<Value[Key]> };

/**
 * The same for keys at any depth.
 * @param verbatim paths to tables, as `table.option`, whose keys stay as they are; default: none
 */
export function camelCased<Value>(value: Value, verbatim?: readonly string[]): CamelCased<Value>;
export function camelCased(value: unknown, verbatim: readonly string[] = []): unknown {
  if (Array.isArray(value)) return value.map((item) => camelCased(item));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]: [string, unknown]) => {
    const within = verbatim.flatMap((path) => (path.startsWith(`${key}.`) ? path.slice(key.length + 1) : []));
    return [
      camelKey(key),
      verbatim.includes(key) && isTable(inner) ? { ...inner } : camelCased(inner, within),
    ];
  });
  return Object.fromEntries(entries);
}

/** `first_token_timeout_ms` becomes `firstTokenTimeoutMs`. */
export function camelKey(key: string): string {
  return key.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** `firstTokenTimeoutMs` becomes `first_token_timeout_ms`. */
export function camelToSnake(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
