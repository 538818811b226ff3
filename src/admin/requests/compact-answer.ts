import { formatNumber } from "../../text/format.ts";
import { z } from "zod";
import type { ChannelCompactor } from "../../compactor/compactor.ts";
import { MIN_SOURCE_TOKENS } from "../../compactor/policy/policy.ts";
import type { ForcedOutcome } from "../../compactor/target.ts";
import type { ChannelId, JobId } from "../../core/ids.ts";
import { displayableLine } from "../../text/displayable.ts";
import { counted } from "../../text/text.ts";
import type { CompactionRecord, CompactionStore } from "../../store/compaction/compactions.ts";
import type { LogStore } from "../../store/log/log.ts";

/** The outcome of a compaction that a person asked for, as sent between processes. */
export type CompactAnswer = z.infer<typeof compactAnswer>;

const whole = z.number().int().nonnegative();
export const compactAnswer = z.discriminatedUnion("kind", [
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

/** The form for the row, without the summary's text, which is read with the answer, after any deletions. */
export function storableAnswer(answer: CompactAnswer): object {
  if (answer.kind !== "committed") return answer;
  const { text: _, ...rest } = answer;
  return rest;
}

/**
 * Compacts all that may be compacted, and waits for it. Rejects only if the compactor or the store does.
 * @param focus what its summary should keep above all; default: nothing in particular
 */
export async function forceCompaction(
  compactor: Pick<ChannelCompactor, "force">,
  compactions: Pick<CompactionStore, "find">,
  focus = "",
): Promise<CompactAnswer> {
  return answerTo(await compactor.force(focus), compactions);
}

export interface RedoStores {
  readonly compactions: Pick<CompactionStore, "find" | "covering">;
  readonly log: Pick<LogStore, "tokensLeft" | "hasExpired">;
}

/**
 * Writes the live summary of a compaction again, with the prompt and the model of today, and waits for it. It extracts no memories.
 * @param id as `weir compactions` shows it
 */
export async function redoCompaction(
  compactor: Pick<ChannelCompactor, "redo">,
  { compactions, log }: RedoStores,
  channel: ChannelId,
  id: JobId,
): Promise<CompactAnswer> {
  const record = await compactions.find(id, channel);
  if (record === undefined)
    return { kind: "nothing", reason: `there is no compaction #${id} in this channel` };
  const covering = record.summary?.live === false ? await compactions.covering(channel, record) : null;
  const reason =
    reasonAgainst(record, covering) ??
    ((await log.hasExpired(channel, record.fromSeq, record.toSeq))
      ? "texts of its messages are no longer kept, so it stays as it is"
      : null) ??
    ((await log.tokensLeft(channel, record.fromSeq, record.toSeq)) < MIN_SOURCE_TOKENS
      ? "next to nothing is left of its messages: they were deleted"
      : null);
  if (reason !== null) return { kind: "nothing", reason };
  return answerTo(await compactor.redo(record), compactions);
}

/**
 * Why the summary of a compaction cannot be written again; null: it can.
 * @param covering the compaction that covers its messages now
 */
function reasonAgainst({ id, state, summary }: CompactionRecord, covering: JobId | null): string | null {
  if (state === "running" || state === "staged") return `#${id} is under way`;
  if (state === "ahead") return `#${id} is written ahead, and has not landed yet`;
  if (summary === null) return `#${id} has ended without a summary`;
  if (summary.live) return null;
  return covering === null
    ? `the messages of #${id} were reset since`
    : `#${id} was replaced by a later one, #${covering}`;
}

async function answerTo(
  outcome: ForcedOutcome,
  compactions: Pick<CompactionStore, "find">,
): Promise<CompactAnswer> {
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

export function describeRedo(answer: CompactAnswer): string {
  if (answer.kind === "failed")
    return "The summary could not be written again now, and stays as it is; the log tells why.";
  if (answer.kind === "nothing") return `Nothing was written again: ${answer.reason}.`;
  const { job, messages, fromSeq, toSeq, tokensBefore, tokensAfter, ms, model } = answer;
  const range = `${counted(messages, "message")} (entries ${formatNumber(fromSeq)}–${formatNumber(toSeq)})`;
  const how = model === null ? "an extract without a model" : `by ${displayableLine(model)}`;
  const tokens = `${formatNumber(tokensBefore)} tokens before, ${formatNumber(tokensAfter)} now`;
  return `Written again, as #${job}: the summary of ${range}, ${tokens}, ${how}, in ${(ms / 1000).toFixed(1)} s.`;
}

/** The resulting summary, indented; empty: there is no summary. */
export function quoteSummary(answer: CompactAnswer): string {
  if (answer.kind !== "committed") return "";
  return answer.text.trim().replaceAll(/^(?=.)/gm, "  ");
}
