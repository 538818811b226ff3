import { formatNumber } from "../text/format.ts";
import { type CommonOptions, type Io, say, sayJson } from "./shared/io.ts";
import { findChannel, timeFormatOf, withStore } from "./shared/open.ts";
import { readConfigToLook } from "./shared/readable-config.ts";
import { describeSpending } from "../admin/reports/cost-format.ts";
import { readCompactions } from "../admin/reports/compaction-list.ts";
import { openModels } from "../llm/model-provider.ts";
import type { JobKind } from "../core/compaction.ts";
import { counted } from "../text/text.ts";
import type { TimeFormat } from "../text/time.ts";
import { displayable, displayableLine } from "../text/displayable.ts";
import type { CompactionRecord } from "../store/compaction/compactions.ts";

type CompactionsOptions = CommonOptions & { readonly json?: boolean; readonly limit: number };

/** `weir compactions CHANNEL`: the compactions with entries, time, model and summaries; the newest last. */
export async function showCompactions(io: Io, name: string, options: CompactionsOptions): Promise<void> {
  const config = readConfigToLook(io, options);
  await withStore(io, config, async (store) => {
    const channel = await findChannel(store, name);
    const time = timeFormatOf(config, channel.agent);
    await using models = await openModels(config.llm);
    const { jobs, spent, priceOf } = await readCompactions({ store, models }, channel.id, options.limit);
    for (const job of jobs) {
      if (options.json === true) sayJson(io, job);
      else
        say(
          io,
          formatCompaction(job, time, job.spent.length === 0 ? "" : describeSpending(job.spent, priceOf)),
        );
    }
    if (options.json === true) return;
    if (jobs.length === 0) say(io, "Nothing was summarised yet.");
    // Also of those that are not listed.
    const all = [...spent.values()].flat();
    if (all.length > 0) say(io, `\nall compactions by today's prices: ${describeSpending(all, priceOf)}`);
  });
}

const WHAT: Readonly<Record<JobKind, string>> = {
  leaf: "summary of",
  merge: "merged summary of",
  redo: "summary, written again, of",
};

/**
 * A compaction as a card for a person: the covered entries, the cost, and the summary. Pure.
 * @param spent the cost of its model calls, in words; may be empty
 */
export function formatCompaction(job: CompactionRecord, time: TimeFormat, spent = ""): string {
  const number = `#${job.id}`.padEnd(6);
  const range = `entries ${formatNumber(job.fromSeq)}–${formatNumber(job.toSeq)} (${counted(job.messages, "message")})`;
  const lines = [
    `${number}  ${WHAT[job.kind]} ${range} · ${job.tier}`,
    `${time.minute(job.createdAt)}  ${describeEnd(job)}`,
  ];
  if (spent !== "") lines.push(spent);
  if (job.summary !== null) {
    lines.push(describeText(job, job.summary));
    lines.push(
      ...displayable(job.summary.text)
        .trim()
        .split("\n")
        .map((line) => `  ${line}`.trimEnd()),
    );
  }
  return lines.join("\n        ");
}

function describeEnd(job: CompactionRecord): string {
  const { state, sourceTokens, summary, ms, attempt, reason } = job;
  const attempts = attempt > 1 ? `, ${attempt} attempts` : "";
  const before = `about ${counted(sourceTokens, "token")}`;
  if (state === "ahead") return `written ahead: ${before}${attempts}; it counts once room is wanted`;
  if (ms === null) return `under way: ${before}${attempts}`;
  const took = `in ${(ms / 1000).toFixed(1)} s${attempts}`;
  if (summary !== null)
    return `about ${formatNumber(sourceTokens)} → ${counted(summary.tokens, "token")}, ${took}`;
  const why = reason === null ? "" : `: ${displayableLine(reason)}`;
  return `${state} ${took}${why}`;
}

function describeText(
  { level, memories }: CompactionRecord,
  summary: NonNullable<CompactionRecord["summary"]>,
): string {
  const { kind, model, live, needsRedo } = summary;
  const marks = [
    `level ${level}`,
    kind === "digest" ? "extract without a model" : `by ${displayableLine(model ?? "a model")}`,
    counted(memories, "memory", "memories"),
    live ? "" : "replaced by a later one",
    live && needsRedo ? "to be written again" : "",
  ];
  return marks.filter((mark) => mark !== "").join(", ");
}
