import { formatNumber } from "../text/format.ts";
import { z } from "zod";
import type { ChannelCompactor } from "../compactor/compactor.ts";
import { counted } from "../text/text.ts";
import type { CompactionStore } from "../store/compaction/compactions.ts";

/** The outcome of a compaction that a person asked for, as sent between processes. */
export type CompactAnswer = z.infer<typeof Answer>;

const whole = z.number().int().nonnegative();
const Answer = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("committed"),
    job: whole,
    /** Summarised messages, calls and results. */
    messages: whole,
    fromSeq: whole,
    toSeq: whole,
    /** Estimated. */
    tokensBefore: whole,
    tokensAfter: whole,
    memories: whole,
    ms: z.number(),
    /** Null: an extract without a model. */
    model: z.string().nullable(),
    text: z.string(),
  }),
  z.object({ kind: z.literal("nothing"), reason: z.string() }),
  /** Without the reason: only log lines show a provider's words. */
  z.object({ kind: z.literal("failed") }),
]);

/** @returns undefined if this version does not know the answer */
export function parseAnswer(value: unknown): CompactAnswer | undefined {
  return Answer.safeParse(value).data;
}

/** The form for the row, without the summary's text, which is read with the answer, after any deletions. */
export function storableAnswer(answer: CompactAnswer): object {
  if (answer.kind !== "committed") return answer;
  const { text: _, ...rest } = answer;
  return rest;
}

/** Compacts all that may be compacted, and waits for it. Rejects only if the compactor or the store does. */
export async function forceCompaction(
  compactor: Pick<ChannelCompactor, "force">,
  compactions: Pick<CompactionStore, "find">,
): Promise<CompactAnswer> {
  const outcome = await compactor.force();
  if (outcome.kind === "failed") return { kind: "failed" };
  if (outcome.kind === "nothing") return { kind: "nothing", reason: outcome.reason };
  const { job, summary, ms } = outcome;
  const record = await compactions.find(job.id);
  return {
    kind: "committed",
    job: job.id,
    messages: record?.messages ?? job.toSeq - job.fromSeq + 1,
    fromSeq: job.fromSeq,
    toSeq: job.toSeq,
    tokensBefore: Math.round(job.sourceTokens),
    tokensAfter: summary.tokens,
    memories: record?.memories ?? 0,
    ms,
    model: summary.model,
    // A deletion may have followed the commit.
    text: record?.summary?.text ?? summary.text,
  };
}

/** The answer in one line for a person. */
export function describeAnswer(answer: CompactAnswer): string {
  if (answer.kind === "failed") {
    return "This could not be summarised now. Nothing is lost, and it is tried again by itself; the log tells why.";
  }
  if (answer.kind === "nothing") return `Nothing was summarised: ${answer.reason}.`;
  const { messages, fromSeq, toSeq, tokensBefore, tokensAfter, memories, ms, model } = answer;
  const range = `${counted(messages, "message")} (entries ${formatNumber(fromSeq)}–${formatNumber(toSeq)})`;
  const tokens = `about ${formatNumber(tokensBefore)} tokens became ${formatNumber(tokensAfter)}`;
  const how = model === null ? ", by an extract without a model" : "";
  const kept = memories === 0 ? "" : ` ${counted(memories, "memory", "memories")} kept.`;
  return `Summarised ${range}: ${tokens}, in ${(ms / 1000).toFixed(1)} s${how}.${kept}`;
}

/** The summary that it made, indented; "" if none. */
export function quoteSummary(answer: CompactAnswer): string {
  if (answer.kind !== "committed") return "";
  return answer.text.trim().replaceAll(/^(?=.)/gm, "  ");
}
