import { createHash } from "node:crypto";
import type { ApprovalMode } from "../core/approval.ts";
import { formatNumber } from "../text/format.ts";
import type { Tool } from "./tool.ts";

/** Decides whether a call needs a person's approval. Pure. */

/** @param configured by tool; it takes precedence over the tool's own setting */
export function needsApproval(
  { spec, approve = "never", isReadOnly = false }: Pick<Tool, "spec" | "approve" | "isReadOnly">,
  configured: Readonly<Record<string, ApprovalMode>>,
): boolean {
  const mode = Object.hasOwn(configured, spec.name) ? (configured[spec.name] ?? approve) : approve;
  return mode === "always" || (mode === "writes" && !isReadOnly);
}

/** JSON with its keys in order: the same for the same arguments, however a model writes them. @throws SyntaxError, RangeError */
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
