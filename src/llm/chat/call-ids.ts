import { createHash, randomBytes } from "node:crypto";
import type { ToolCall } from "../../core/entry.ts";

/**
 * Ids of real servers: `call_…` of 29 characters (OpenAI), 9 letters and digits (Mistral), `toolu_…`, `chatcmpl-tool-…`
 * of 46 (vLLM), `functions.NAME:0` (Kimi, which needs its own ids back). Every later request has the id twice, and no
 * estimate counts it.
 */
const USABLE_ID = /^[\w.:-]{1,64}$/;

/** @returns the id, or its hash if the id cannot be sent back; equal ids get equal hashes, "" stays */
export function usableId(id: string): string {
  return id === "" || USABLE_ID.test(id) ? id : makeId(createHash("sha256").update(id).digest());
}

/** The calls of one answer, each with a unique id that can be sent back. @param taken ids that are used already */
export function withOwnIds(calls: readonly ToolCall[], taken: readonly string[] = []): ToolCall[] {
  const seen = new Set(taken);
  return calls.map((call) => {
    const given = usableId(call.id);
    const id = given === "" || seen.has(given) ? makeId(randomBytes(9)) : given;
    seen.add(id);
    return { ...call, id };
  });
}

/** Nine letters and digits: Mistral refuses any other form, and all others take it. */
function makeId(bytes: Buffer): string {
  const letters = "abcdefghijklmnopqrstuvwxyz012345";
  return Array.from(bytes.subarray(0, 9), (byte) => letters.charAt(byte % letters.length)).join("");
}
