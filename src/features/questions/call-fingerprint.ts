import { createHash } from "node:crypto";
import { formatNumber } from "../../text/format.ts";
import type { Tool } from "../../tools/tool.ts";

/** Greatest depth and length of arguments, in UTF-16 units, that people are asked to approve: they would not read more. */
const DEEPEST = 32;
const LONGEST = 50_000;

/** Why such arguments cannot be put to a person; null: they can. */
export function unreadableArguments(json: string): string | null {
  if (json.length > LONGEST)
    return `arguments of over ${formatNumber(LONGEST)} characters are put before nobody.`;
  const value: unknown = json.trim() === "" ? {} : JSON.parse(json);
  if (someWithin(value, DEEPEST, null)) return `arguments of over ${DEEPEST} levels are put before nobody.`;
  const isTooLarge = (one: unknown): boolean => typeof one === "number" && !Number.isFinite(one);
  return someWithin(value, DEEPEST, isTooLarge) ? "a number in the arguments is too large." : null;
}

/** @param fits null: whether any value lies deeper than that */
function someWithin(value: unknown, levels: number, fits: ((one: unknown) => boolean) | null): boolean {
  if (fits?.(value) === true) return true;
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return fits === null;
  return Object.values(value).some((inner) => someWithin(inner, levels - 1, fits));
}

/** Distinguishes the call of a tool with these arguments from all others. */
export function fingerprintOf(
  { spec, identity }: Pick<Tool, "spec" | "identity">,
  canonicalJson: string,
): string {
  const parts = [spec.name, canonicalJson, ...(identity === undefined ? [] : [identity])];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}
