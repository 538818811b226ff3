/**
 * A call's arguments as JSON with its keys in order: the same for the same arguments, however a model writes them. Pure.
 * @throws SyntaxError, RangeError
 */
export function canonicalArguments(json: string): string {
  return canonical(json.trim() === "" ? {} : JSON.parse(json));
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  // JSON.stringify would make these `null` and `0`, and so the same as others.
  if (typeof value === "number" && !Number.isFinite(value)) return value > 0 ? "1e999" : "-1e999";
  if (Object.is(value, -0)) return "-0";
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, inner]) => `${JSON.stringify(key)}:${canonical(inner)}`).join(",")}}`;
}
