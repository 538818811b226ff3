import type { AssistantEntry, Entry, FoundIds, RecallArms, UserEntry } from "../../core/entry.ts";
import { type AgentId, type MemoryId, type Seq, turnId } from "../../core/ids.ts";
import { type AskedCommand, type Command, askingChannel, type CommandParts, timeOf } from "./command.ts";
import { explainFailure } from "../explain-failure.ts";
import { type Memory, whoseOf } from "../../core/memory.ts";
import { counted } from "../../text/text.ts";
import { createTimeFormat, type TimeFormat } from "../../text/time.ts";
import { displayableLine, firstWords } from "../../text/displayable.ts";
import { isFileKind, isOperators } from "../../context/sections/section.ts";
import type { RecordedSection } from "../../store/turns/context-records.ts";
import type { InboundCommand } from "../../platforms/platform.ts";
import type { ChannelRow } from "../../store/channels/channels.ts";
import type { AnswerRecord } from "../../store/turns/answer-provenance.ts";
import type { MessageFate } from "../../store/turns/message-fate.ts";
import {
  describeUnanswered,
  type LastMessageFacts,
  type Unanswered,
  whyUnanswered,
} from "../reports/unanswered.ts";

/** Limit of entries that are looked up: a turn may search often. */
const MAX_RECALLED = 50;

export const whyCommand: Command = {
  name: "why",
  help: "why your last message has no answer, and what the last answer was made of",
  isReport: true,
  argument: null,
  allowed: "everybody",
  run: explain,
  runUnmet: explainUnmet,
};

/** `/why`: why the asker's last message has no answer, if so, and then the sources of the last answer here. */
async function explain(parts: CommandParts, command: AskedCommand): Promise<string> {
  const { channel, isNamedOwner } = command;
  const [answer, failure] = await Promise.all([
    parts.store.answers.last(channel.id),
    parts.store.answers.lastFailure(channel.id),
  ]);
  const time = timeOf(parts, channel);
  const { why, at } = await lastMessage(parts, command, {
    answerSeq: answer?.seqs.at(-1) ?? 0,
    lastFailureAt: failure?.at ?? null,
  });
  const { log } = parts.daemon();
  const explained = (reason: string | null): string =>
    isNamedOwner && reason !== null
      ? ` ${explainFailure(reason, log)}`
      : " Whoever runs me sees why, by the same command or in the log.";
  const heads: string[] = [];
  if (why !== null) heads.push(describeUnanswered(why, at, { time, now: parts.now(), explain: explained }));
  // Another person's turn has failed since.
  if (failure !== null && !isOfFailure(why))
    heads.push(`My last turn here failed, at ${time.minute(failure.at)}.${explained(failure.reason)}`);
  if (answer === null) return [...heads, "I have not answered anything here yet."].join("\n\n");
  return [...heads, await describeAnswer(parts, command, answer)].join("\n\n");
}

/** Nothing is left to say of a turn that failed. */
function isOfFailure(why: Unanswered | null): boolean {
  if (why?.kind === "handed_over") return isOfFailure(why.outcome);
  return why?.kind === "failed" || why?.kind === "spent";
}

/** The channel's log has nothing yet, perhaps because all that was said there was refused. */
function explainUnmet(
  { refusals, now }: CommandParts,
  { channel, asker }: Pick<InboundCommand, "channel" | "asker">,
): string | null {
  const refusal = refusals.last(channel, asker.id);
  if (refusal === null) return null;
  const why = { kind: refusal.why, isRead: false, isEdited: false };
  return describeUnanswered(why, null, { time: createTimeFormat("UTC"), now: now(), explain: () => "" });
}

/** Why the asker's last message there has no answer; null: it has an answer, or the reason is unknown. */
async function lastMessage(
  parts: CommandParts,
  { channel, asker }: Pick<AskedCommand, "channel" | "asker">,
  { answerSeq, lastFailureAt }: { readonly answerSeq: Seq; readonly lastFailureAt: Date | null },
): Promise<{ readonly why: Unanswered | null; readonly at: Date | null }> {
  const { message, lost } = await parts.store.fates.lastOf(channel.id, channel.address, asker.id);
  const refusal = parts.refusals.last(channel.address, asker.id);
  const isLostLast =
    lost !== null &&
    lost.seq > Math.max(message?.seq ?? 0, answerSeq) &&
    !(refusal !== null && refusal.at > lost.to);
  const why = whyUnanswered({
    ...(await settledFacts(parts, channel, message, lastFailureAt)),
    refusal,
    lost: isLostLast ? lost : null,
    isMentionRequired: parts.isMentionRequired(channel),
    now: parts.now(),
  });
  const isRefusalNewer = refusal !== null && (message === null || refusal.at > message.at);
  return { why, at: (isRefusalNewer ? refusal : message)?.at ?? null };
}

type SettledFacts = Pick<
  LastMessageFacts,
  "logged" | "skipReason" | "waitsFor" | "handedOver" | "lastFailureAt"
>;

/** Follows a message over the hand-offs that ended its turns. */
async function settledFacts(
  parts: CommandParts,
  channel: ChannelRow,
  logged: MessageFate | null,
  lastFailureAt: Date | null,
): Promise<SettledFacts> {
  const turn = logged?.turn ?? null;
  const skipReason = turn === null ? null : parts.skipReasons.of(turn.id);
  const waitsFor = turn === null ? null : await parts.waitsFor(turnId(turn.id));
  const known = { logged, skipReason, waitsFor, lastFailureAt };
  if (turn?.handedOver == null) return { ...known, handedOver: null };
  const { seq, to } = turn.handedOver;
  const next = await parts.store.fates.of(channel.id, seq);
  const facts = await settledFacts(parts, channel, next, lastFailureAt);
  const reason = whyUnanswered({
    ...facts,
    refusal: null,
    lost: null,
    isMentionRequired: false,
    now: parts.now(),
  });
  return { ...known, handedOver: { to: nameIn(parts, channel, to), reason } };
}

function nameIn({ agentOf, guestsOf }: CommandParts, channel: ChannelRow, agent: AgentId | null): string {
  return agent === null ? agentOf(channel).config.name : guestsOf(channel).nameOf(agent);
}

/** The sources of an answer, in their current text, filtered as in recall. */
async function describeAnswer(
  parts: CommandParts,
  { channel, isNamedOwner }: AskedCommand,
  answer: AnswerRecord,
): Promise<string> {
  const { store, contexts } = parts;
  // The record of an answer comes a moment later.
  await contexts.flush();
  const entries = await store.log.readAt(channel.id, answer.seqs);
  const recalled = recalledBy(entries, answer.recalled);
  const [earlier, memories, record] = await Promise.all([
    store.log.readAt(channel.id, recalled.entries),
    store.memories.visible(
      { ...askingChannel(parts, channel), ...(answer.agent !== null && { agent: answer.agent }) },
      recalled.memories,
    ),
    store.contextRecords.find(channel.id, answer.turn),
  ]);
  return formatWhy(
    {
      ...answer,
      asked: entries.filter((entry) => entry.kind === "user"),
      tools: entries.flatMap((entry) =>
        entry.kind === "tool_call" ? entry.calls.map(({ name }) => name) : [],
      ),
      memories,
      forgotten: recalled.memories.length - memories.length,
      earlier: earlier.flatMap((entry): RecalledEntry[] =>
        entry.kind === "user" || entry.kind === "assistant" ? [entry] : [],
      ),
      sections: (record?.sections ?? []).filter(
        (section) => isFileKind(section.kind) && (isNamedOwner || !isOperators(section)),
      ),
    },
    { time: timeOf(parts, channel), nameOf: (agent) => nameIn(parts, channel, agent), by: answer.agent },
  );
}

/** The entries that recall found before the model call, and that tools found; each once. */
function recalledBy(
  entries: readonly Entry[],
  first: { readonly entries: readonly Seq[]; readonly memories: readonly MemoryId[] },
): { entries: Seq[]; memories: MemoryId[] } {
  const results = entries.flatMap((entry) => (entry.kind === "tool_result" ? [entry] : []));
  const seqs = results.flatMap(({ references }) => references.map(({ seq }) => seq));
  const ids = results.flatMap(({ memories }) => memories.map(({ id }) => id));
  return {
    entries: [...new Set([...first.entries, ...seqs])].slice(0, MAX_RECALLED),
    memories: [...new Set([...first.memories, ...ids])].slice(0, MAX_RECALLED),
  };
}

/** An earlier message that was found for an answer. */
type RecalledEntry = UserEntry | AssistantEntry;

interface WhyReport extends Pick<AnswerRecord, "at" | "recalled" | "turnMs" | "modelMs" | "calls"> {
  readonly asked: readonly UserEntry[];
  readonly memories: readonly Memory[];
  /** Number of found memories that have been deleted since. */
  readonly forgotten: number;
  readonly earlier: readonly RecalledEntry[];
  /** Names, in the order of the calls. */
  readonly tools: readonly string[];
  /** Files in its context that the asker may know of; empty if its record is not stored. */
  readonly sections: readonly RecordedSection[];
}

const SHOWN = 10;
const SHOWN_TEXT = 60;

/** Describes the known sources of the last answer. Pure. */
function formatWhy(
  report: WhyReport,
  parts: {
    readonly time: TimeFormat;
    readonly nameOf: (agent: AgentId | null) => string;
    /** The agent that answered; null: the channel's own agent. */
    readonly by: AgentId | null;
  },
): string {
  const { time, nameOf, by } = parts;
  const { asked, memories, forgotten, earlier } = report;
  const { arms } = report.recalled;
  const author = (entry: RecalledEntry): string =>
    entry.kind === "user" ? entry.author.name : nameOf(entry.agent ?? null);
  const line = (entry: RecalledEntry): string =>
    `${displayableLine(author(entry))}, ${time.minute(entry.at)}: ${entry.deleted ? "(deleted since)" : firstWords(entry.text, SHOWN_TEXT)}`;
  const earlierLine = (entry: RecalledEntry): string =>
    line(entry) + foundBy(arms, ({ entries }) => entries.includes(entry.seq));
  const remembered = memories.map(
    (memory) =>
      `#${memory.id} ${firstWords(memory.statement, SHOWN_TEXT)} (${displayableLine(whoseOf(memory))}, ${time.day(memory.at)})` +
      foundBy(arms, (found) => found.memories.includes(memory.id)),
  );
  if (forgotten > 0)
    remembered.push(
      `${counted(forgotten, "memory", "memories")} that ${forgotten === 1 ? "is" : "are"} forgotten since`,
    );
  return [
    by === null
      ? `My last answer here is from ${time.minute(report.at)}.`
      : `The last answer here is ${displayableLine(nameOf(by))}'s, from ${time.minute(report.at)}.`,
    ...list("It answered:", asked.map(line)),
    ...list("Remembered for it:", remembered, "No memory was found for it."),
    ...list(
      "Earlier messages that were found for it:",
      earlier.map(earlierLine),
      "No earlier message was looked up for it.",
    ),
    ...list("Sections of its context:", report.sections.map(sectionLine)),
    describeTools(report.tools),
    describeModel(report),
  ].join("\n");
}

/** `; found by words and meaning`; "" where only words were looked for, or a tool has found it. */
function foundBy(arms: RecallArms | undefined, isIn: (found: FoundIds) => boolean): string {
  if (arms === undefined) return "";
  const ways = (["words", "meaning"] as const).filter((way) => isIn(arms[way]));
  return ways.length === 0 ? "" : `; found by ${ways.join(" and ")}`;
}

function sectionLine({ key, source, reason, evidence, state }: RecordedSection): string {
  const why = evidence.length === 0 ? reason : `${reason}; more so for ${evidence.join(", ")}`;
  return displayableLine(`${key}, ${source} (${why}${state === "whole" ? "" : `; ${state}`})`);
}

function list(head: string, items: readonly string[], none = ""): string[] {
  if (items.length === 0) return none === "" ? [] : [none];
  const shown = items.slice(0, SHOWN).map((item) => `- ${item}`);
  return [head, ...shown, ...(items.length > SHOWN ? [`- and ${items.length - SHOWN} more`] : [])];
}

function describeTools(tools: readonly string[]): string {
  if (tools.length === 0) return "It called no tools.";
  const counts = new Map<string, number>();
  for (const tool of tools) counts.set(tool, (counts.get(tool) ?? 0) + 1);
  const named = [...counts].map(
    ([name, count]) => displayableLine(name) + (count === 1 ? "" : ` (${count} times)`),
  );
  return `It called ${named.slice(0, SHOWN).join(", ")}.`;
}

function describeModel({ calls, turnMs, modelMs }: WhyReport): string {
  const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
  const spent = `in ${seconds(turnMs)}, of which ${seconds(modelMs)} the model took`;
  const last = calls.findLast(({ outcome }) => outcome === "answered") ?? calls.at(-1);
  if (last === undefined) return `It was made ${spent}.`;
  return `${displayableLine(last.model)} wrote it, ${spent}, in ${counted(calls.length, "call")}.`;
}
