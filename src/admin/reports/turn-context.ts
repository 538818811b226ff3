import { describeUsage, sectionRow, segmentRows } from "./channel-format.ts";
import type { Entry } from "../../core/entry.ts";
import { formatAddress, type JobId, type Seq } from "../../core/ids.ts";
import type { ChannelRow } from "../../store/channels/channels.ts";
import type { Store } from "../../store/store.ts";
import type { ContextRecord } from "../../store/turns/context-records.ts";
import { displayableLine } from "../../text/displayable.ts";
import { formatNumber } from "../../text/format.ts";
import { counted } from "../../text/text.ts";
import type { TimeFormat } from "../../text/time.ts";

/** The texts in view, as they read now. */
export interface TurnTexts {
  readonly summaries: readonly {
    readonly compaction: JobId | null;
    readonly fromSeq: Seq;
    readonly toSeq: Seq;
    /** Null: it can no longer be identified. */
    readonly text: string | null;
  }[];
  readonly entries: readonly Entry[];
}

/** The entries and summaries that a turn was shown, as the log has them now. */
export async function readTurnTexts(
  store: Pick<Store, "log" | "compactions">,
  { id }: Pick<ChannelRow, "id">,
  { raw, summaries }: ContextRecord,
): Promise<TurnTexts> {
  const entries = raw === null ? [] : await store.log.readCurrent(id, raw.fromSeq, raw.toSeq);
  const texts = await Promise.all(
    summaries.map(async ({ compaction, fromSeq, toSeq }) => {
      const made = compaction === null ? undefined : await store.compactions.find(compaction, id);
      return { compaction, fromSeq, toSeq, text: made?.summary?.text ?? null };
    }),
  );
  return { summaries: texts, entries };
}

/** The context of a turn as a screen that explains itself. Pure. */
export function formatTurnContext(
  record: ContextRecord,
  channel: Pick<ChannelRow, "address" | "agent">,
  time: TimeFormat,
): string {
  const { turn, at, model, window } = record;
  const lines = [
    displayableLine(
      `${formatAddress(channel.address)} · turn ${turn} · ${time.minute(at)} · agent ${record.agent ?? channel.agent} · model ${model}`,
    ),
    "The last request of this turn. Texts are not kept: --text shows what was in view as it reads now.",
    "",
    `  ${describeUsage(record)}; the window has ${formatNumber(window)}`,
    `  ${describeSize(record)}`,
    "",
    ...segmentRows(record.segments),
    ...describeSections(record),
    "",
    ...describeRequest(record).map((line) => `  ${line}`),
  ];
  return lines.join("\n");
}

/** How large the request was: by the estimate, and as the provider has counted it. Pure. */
export function describeSize(record: Pick<ContextRecord, "tokens" | "characters" | "reported">): string {
  return `about ${counted(record.tokens, "token")}, ${counted(record.characters, "character")}${describeReport(record)}`;
}

/** What of the conversation was in view, what the question was about, and whether a cache could hit; one fact a line. Pure. */
export function describeRequest(record: ContextRecord): string[] {
  return [...describeView(record), ...describeFocus(record), ...describePrefix(record)];
}

function describeReport({ reported }: Pick<ContextRecord, "reported">): string {
  if (reported === null) return "; the provider has counted nothing";
  const { promptTokens, cachedTokens, writtenTokens = 0 } = reported;
  const written = writtenTokens === 0 ? "" : ` and ${formatNumber(writtenTokens)} written to its cache`;
  return `; the provider counted ${formatNumber(promptTokens)}, ${formatNumber(cachedTokens)} of them cached${written}`;
}

function describeSections({ sections, budget }: ContextRecord): string[] {
  if (sections.length === 0) return [];
  const limits = `one may have ${formatNumber(budget.each)} characters, all ${formatNumber(budget.all)}`;
  return [
    "",
    `  sections (${limits}):`,
    ...sections.flatMap((section) => [
      `    ${sectionRow(section)}`,
      `      priority ${section.priority}${section.sha256 === null ? "" : `, sha256 ${section.sha256.slice(0, 16)}…`}`,
    ]),
  ];
}

function describeView({ summaries, raw, omission, recalled }: ContextRecord): string[] {
  const lines = summaries.map(({ fromSeq, toSeq, level, tokens, compaction }) => {
    const which = compaction === null ? "a summary" : `summary #${compaction}`;
    return `${which}: entries ${range(fromSeq, toSeq)}, level ${level}, ${counted(tokens, "token")}`;
  });
  if (omission !== null)
    lines.push(
      `left out: entries ${range(omission.fromSeq, omission.toSeq)}, ${counted(omission.count, "message")}, ${counted(omission.tokens, "token")}`,
    );
  lines.push(
    raw === null
      ? "no entry was in view as it was said"
      : `as it was said: ${counted(raw.count, "entry", "entries")}, ${range(raw.fromSeq, raw.toSeq)}`,
  );
  if (recalled.entries.length > 0)
    lines.push(`recalled: entries ${recalled.entries.map(formatNumber).join(", ")}`);
  if (recalled.memories.length > 0)
    lines.push(`remembered: memories ${recalled.memories.map((id) => `#${id}`).join(", ")}`);
  return lines;
}

function describeFocus({ focus }: ContextRecord): string[] {
  const { summary, paths, symbols, signals } = focus;
  const parts = [
    summary === "" ? "" : `"${displayableLine(summary)}"`,
    ...[...paths, ...symbols, ...signals].map((word) => displayableLine(word)),
  ].filter((part) => part !== "");
  return parts.length === 0 ? [] : [`what it was about: ${parts.join(", ")}`];
}

function describePrefix({ prefix }: ContextRecord): string[] {
  const { sha256, messages, continues } = prefix;
  const before =
    continues === null
      ? "the first one since the start, or since the channel was loaded"
      : continues
        ? "it begins with that of the turn before: a cache can hit"
        : "it does not begin with that of the turn before: a cache cannot hit past the change";
  return [`prefix: ${counted(messages, "message")}, sha256 ${sha256.slice(0, 16)}…; ${before}`];
}

/** `12–1,345` */
export function range(from: Seq, to: Seq): string {
  return `${formatNumber(from)}–${formatNumber(to)}`;
}
