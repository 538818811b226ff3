import { withDeadline } from "../../async/deadline.ts";
import type { History } from "../../core/history.ts";
import type { OmittedExtract } from "../../turn/context-sources.ts";
import type { ActorParts } from "../channel-context.ts";

/** Newest omitted entries that are read for an extract: a turn waits for it. */
const MOST_ENTRIES = 300;
/** Longest wait for an extract, ms. */
const WITHIN_MS = 400;

/**
 * What a turn is told of the omitted range until a summary covers it, in the texts that its messages have now.
 * @returns null: nothing is omitted, or the extract comes too late
 */
export async function omittedExtract(
  { store, owner, compactorAgent }: Pick<ActorParts, "store" | "owner" | "compactorAgent">,
  { omission }: History,
  maxTokens: number,
): Promise<OmittedExtract | null> {
  if (omission === null) return null;
  const { fromSeq, toSeq } = omission;
  const make = async (): Promise<OmittedExtract> => {
    const from = Math.max(fromSeq, toSeq - MOST_ENTRIES + 1);
    const entries = await store.log.readCurrent(owner.channel, from, toSeq);
    return { toSeq, ...(await compactorAgent.digester.ofEntries(entries, maxTokens)) };
  };
  return withDeadline(make(), WITHIN_MS);
}
