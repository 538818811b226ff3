/** The same value with all secrets masked in its texts. Pure. */
export function masked<Value>(value: Value, mask: (text: string) => string): Value {
  const inner = (one: unknown): unknown => {
    if (typeof one === "string") return mask(one);
    if (Array.isArray(one)) return one.map(inner);
    if (one === null || typeof one !== "object" || one instanceof Date) return one;
    return Object.fromEntries(Object.entries(one).map(([key, part]) => [key, inner(part)]));
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it has the value's own form
  return inner(value) as Value;
}
