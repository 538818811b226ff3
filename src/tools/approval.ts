import { createHash } from "node:crypto";
import type { ApprovalMode } from "../core/approval.ts";
import type { Tool } from "./tool.ts";

/** What decides whether a call has to be allowed by a person. Pure. */

/** @param configured by tool; it goes over what the tool says of itself */
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
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, inner]) => `${JSON.stringify(key)}:${canonical(inner)}`).join(",")}}`;
}

/** Tells the call of a tool with these arguments from all others. */
export function fingerprintOf(tool: string, canonicalJson: string): string {
  return createHash("sha256")
    .update(JSON.stringify([tool, canonicalJson]))
    .digest("hex");
}
