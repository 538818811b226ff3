import type { AssistantEntry, Entry, FoundIds, RecallArms, UserEntry } from "../../core/entry.ts";
import type { AgentId, MemoryId, Seq } from "../../core/ids.ts";
import { type AskedCommand, type Command, askingChannel, type CommandParts, timeOf } from "./command.ts";
import { explainFailure } from "../explain-failure.ts";
import type { Memory } from "../../core/memory.ts";
import { counted } from "../../text/text.ts";
import type { TimeFormat } from "../../text/time.ts";
import { displayableLine, firstWords } from "../../text/displayable.ts";
import { isFileKind, isOperators } from "../../context/sections/section.ts";
import type { RecordedSection } from "../../store/turns/context-records.ts";
import type { AnswerRecord } from "../../store/turns/answer-provenance.ts";

/** Limit of entries that are looked up: a turn may search often. */
const MAX_RECALLED = 50;

export const whyCommand: Command = {
  name: "why",
  help: "what the last answer was made of, or why there was none: messages, memories, tools, model",
  argument: null,
  allowed: "everybody",
  run: explainLastAnswer,
};

/** `/why`: what the last answer was made of, in its current text, with the filter of recall. */
async function explainLastAnswer(
  parts: CommandParts,
  { channel, isNamedOwner }: AskedCommand,
): Promise<string> {
  const { store, contexts, agentOf, guestsOf } = parts;
  const nameOf = (agent: AgentId | null): string =>
    agent === null ? agentOf(channel).config.name : guestsOf(channel).nameOf(agent);
  // The record of an answer comes a moment later.
  await contexts.flush();
  const [answer, failure] = await Promise.all([
    store.answers.last(channel.id),
    store.answers.lastFailure(channel.id),
  ]);
  const time = timeOf({ agentOf }, channel);
  const failed = failure === null ? [] : [describeFailure(failure, parts, { time, isNamedOwner })];
  if (answer === null) return [...failed, "I have not answered anything here yet."].join("\n\n");
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
  const why = formatWhy(
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
    { time, nameOf, by: answer.agent },
  );
  return [...failed, why].join("\n\n");
}

/** What became of the newest turn, which failed. Why is the operator's matter: it names their model. */
function describeFailure(
  { at, reason }: { readonly at: Date; readonly reason: string | null },
  { daemon }: Pick<CommandParts, "daemon">,
  { time, isNamedOwner }: Pick<AskedCommand, "isNamedOwner"> & { readonly time: TimeFormat },
): string {
  const head = `My last turn here failed, at ${time.minute(at)}.`;
  if (!isNamedOwner || reason === null)
    return `${head} Whoever runs me sees why, by the same command or in the log.`;
  return `${head} ${explainFailure(reason, daemon().log)}`;
}

/** What recall found before the model call, and what tools found; each once. */
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

/** What an answer was made of. */
interface WhyReport extends Pick<AnswerRecord, "at" | "recalled" | "turnMs" | "modelMs" | "calls"> {
  readonly asked: readonly UserEntry[];
  readonly memories: readonly Memory[];
  /** Found memories that are gone. */
  readonly forgotten: number;
  readonly earlier: readonly RecalledEntry[];
  /** Names, in the order of the calls. */
  readonly tools: readonly string[];
  /** Files that were part of its context, as far as the asker may know of them; none where its record is not kept. */
  readonly sections: readonly RecordedSection[];
}

/** Shown lines of each kind. */
const SHOWN = 10;
/** Shown characters of a text. */
const SHOWN_TEXT = 60;

/** Describes the sources of the last answer, as far as they are known. Pure. */
function formatWhy(
  report: WhyReport,
  {
    time,
    nameOf,
    by,
  }: {
    readonly time: TimeFormat;
    readonly nameOf: (agent: AgentId | null) => string;
    /** Who answered; null: the channel's own agent. */
    readonly by: AgentId | null;
  },
): string {
  const { asked, memories, forgotten, earlier } = report;
  const { arms } = report.recalled;
  const author = (entry: RecalledEntry): string =>
    entry.kind === "user" ? entry.author.name : nameOf(entry.agent ?? null);
  const line = (entry: RecalledEntry): string =>
    `${displayableLine(author(entry))}, ${time.minute(entry.at)}: ${entry.deleted ? "(deleted since)" : firstWords(entry.text, SHOWN_TEXT)}`;
  const earlierLine = (entry: RecalledEntry): string =>
    line(entry) + foundBy(arms, ({ entries }) => entries.includes(entry.seq));
  const remembered = memories.map(
    ({ id, statement, assertedBy, at }) =>
      `#${id} ${firstWords(statement, SHOWN_TEXT)} (${displayableLine(assertedBy)}, ${time.day(at)})` +
      foundBy(arms, (found) => found.memories.includes(id)),
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
