import {
  type CurrentText,
  type EditNotice,
  type Entry,
  isEditNotice,
  type NoticeEntry,
} from "../../core/entry.ts";
import { escapeLabels } from "../../context/labels.ts";
import { absenceText, type EntryTexts, unseenText } from "../../context/render.ts";
import { isOfStandIn, viewOrder } from "../../core/history.ts";
import type { AgentId, Seq } from "../../core/ids.ts";
import { SHOWN_RESULT } from "../../memory/seen-by-tool.ts";
import { counted, displayName, truncateMiddle } from "../../text/text.ts";
import { headForm, type HeadForm, lineHead, type LineBefore } from "../../text/line-head.ts";
import type { TimeFormat } from "../../text/time.ts";

export interface TranscriptStyle {
  readonly agentName: string;
  /** Another agent that spoke in the same channel; default: its id. */
  readonly nameOf?: ((agent: AgentId) => string) | undefined;
  readonly time: TimeFormat;
  readonly texts: Pick<EntryTexts, "editNote" | "absence" | "undelivered">;
}

/** An entry as the summariser reads it: `12. [14:05] NAME: text`, with a head as it is in the history. */
export interface TranscriptLine {
  /** From 1. */
  readonly number: number;
  /** With its current text. */
  readonly entry: Entry;
  /** Number, and time and name where they differ from the line before. */
  readonly head: string;
  readonly wholeHead: string;
  /** The text or action; all of its lines but the first are indented. */
  readonly body: string;
}

/** Longest arguments of a tool that are shown, in UTF-16 units. Its result matters more. */
const MAX_ARGUMENTS = 300;
const INDENT = "    ";

/**
 * Numbers entries as lines, in the order of the view. Deleted texts, failure notices and the stand-in's quotes are left out. An edited message
 * shows its current text; if the message is not among the entries, one note reports the edit. Passages that a tool
 * result quotes are left out: they are elsewhere in the log, and a deletion there could not reach a summary here.
 */
export function transcribe(entries: readonly Entry[], style: TranscriptStyle): TranscriptLine[] {
  const present = new Set(entries.map(({ seq }) => seq));
  const newest = newestNotes(entries);
  const lines: TranscriptLine[] = [];
  let before: LineBefore | null = null;
  for (const entry of viewOrder(entries)) {
    if (isOutdated(entry, newest) || isOfStandIn(entry)) continue;
    const current = withNewText(entry, newest.get(entry.seq)?.text);
    const said = current.deleted || current.expired === true ? null : describe(current, present, style);
    if (said === null || said.body.trim() === "") continue;
    const number = lines.length + 1;
    const minute = style.time.minute(current.at);
    const line: LineBefore = { minute, speaker: said.speaker };
    const headOf = (form: HeadForm): string => `${number}. ${lineHead(form, minute, said.who)}`;
    const [head, wholeHead] = [headOf(headForm(line, before)), headOf("dated")];
    lines.push({ number, entry: current, head, wholeHead, body: indented(said.body) });
    before = line;
  }
  return lines;
}

/** The entries by the numbers under which a model cites them. */
export function sourcesOf(lines: readonly TranscriptLine[]): ReadonlyMap<number, Entry> {
  return new Map(lines.map(({ number, entry }) => [number, entry]));
}

/** The text of the lines that no person wrote. */
export function besidePeople(lines: readonly TranscriptLine[]): string[] {
  const isOfPerson = ({ entry }: TranscriptLine): boolean => entry.kind === "user" && !entry.author.isBot;
  return lines.filter((line) => !isOfPerson(line)).map(({ body }) => body);
}

function newestNotes(entries: readonly Entry[]): ReadonlyMap<Seq, NoticeEntry> {
  const newest = new Map<Seq, NoticeEntry>();
  for (const entry of entries.toSorted((a, b) => a.seq - b.seq)) {
    if (isEditNote(entry)) newest.set(entry.edits.seq, entry);
  }
  return newest;
}

/** Whether the same message has a later edit note. */
function isOutdated(entry: Entry, newest: ReadonlyMap<Seq, NoticeEntry>): boolean {
  return isEditNote(entry) && newest.get(entry.edits.seq) !== entry;
}

function isEditNote(entry: Entry): entry is EditNotice {
  return isEditNotice(entry) && !entry.deleted && entry.text !== "";
}

function withNewText(entry: Entry, text: string | undefined): Entry {
  return text === undefined || entry.kind !== "user" ? entry : { ...entry, text };
}

interface Said {
  /** `NAME: `, or "" if the body names the speaker. */
  readonly who: string;
  /** Null: the body names the speaker, or has several. */
  readonly speaker: string | null;
  readonly body: string;
}

function describe(entry: Entry, present: ReadonlySet<Seq>, style: TranscriptStyle): Said | null {
  // People's names have no brackets, so nobody's line can look like the agent's.
  const { agentName, nameOf = (id) => id } = style;
  const by = "turnId" in entry ? entry.agent : undefined;
  // Another agent's tool calls are left out.
  if (by !== undefined && entry.kind !== "assistant") return null;
  const agent = `${displayName(by === undefined ? agentName : nameOf(by))} [agent]`;
  switch (entry.kind) {
    case "user":
      return saidBy(displayName(entry.author.name), entry.author.id, entry.text);
    case "assistant":
      return saidBy(agent, by ?? "", entry.text);
    case "tool_call": {
      const calls = entry.calls.map(
        (call) => `${agent} called ${displayName(call.name)}(${shortened(call.arguments, MAX_ARGUMENTS)})`,
      );
      const isSilent = entry.text.trim() === "";
      const said = isSilent ? [] : [escapeLabels(entry.text)];
      return { who: isSilent ? "" : `${agent}: `, speaker: null, body: [...said, ...calls].join("\n") };
    }
    case "tool_result": {
      const { references, memories } = entry;
      const quoted = references.length === 0 ? [] : [`(${counted(references.length, "earlier message")})`];
      if (memories.length > 0) quoted.push(`(${counted(memories.length, "memory", "memories")})`);
      const text = entry.text === "" ? [] : [shortened(entry.text, SHOWN_RESULT)];
      const body = `${displayName(entry.tool)} returned: ${[...text, ...quoted].join("\n")}`;
      return { who: "", speaker: null, body };
    }
    case "notice": {
      if (entry.absence !== undefined)
        return { who: "", speaker: null, body: absenceText(entry.absence, style.time, style.texts) };
      if (entry.undelivered !== undefined)
        return { who: "", speaker: null, body: unseenText(entry.undelivered, style.time, style.texts) };
      if (!isEditNote(entry) || present.has(entry.edits.seq)) return null;
      const { author, at } = entry.edits;
      const text = escapeLabels(entry.text);
      const values = { author: displayName(author), original: style.time.minute(at), text };
      return { who: "", speaker: null, body: style.texts.editNote(values) };
    }
  }
}

/** @param id a person's; "": the agent */
function saidBy(name: string, id: string, text: string): Said {
  return { who: `${name}: `, speaker: `${id}\n${name}`, body: escapeLabels(text) };
}

function shortened(text: string, limit: number): string {
  return escapeLabels(truncateMiddle(text, limit));
}

/** Every line break that some reader recognises. */
const LINE_END = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/;
/** `[2026-11-21 14:05]`, anywhere in a text. */
const TIME = /(?<!\\)\[(?=\s*\d{4}-\d\d-\d\d)/g;

/** Indents the lines after the first, so that no text can pass for a numbered line. */
function indented(text: string): string {
  const [first = "", ...rest] = text.split(LINE_END).filter((line) => line.trim() !== "");
  return [first, ...rest.map((line) => INDENT + line.replaceAll(TIME, "\\["))].join("\n");
}

/** Longest text of one edit, in UTF-16 units. */
const MAX_TEXT = 1000;

/** Notes with the current texts of messages that were edited after their summary was written. Pure. */
export function editNotes(
  edits: readonly CurrentText[],
  { texts, time }: Pick<TranscriptStyle, "texts" | "time">,
): string {
  return edits
    .map(({ author, at, text }) =>
      texts.editNote({
        author: displayName(author),
        original: time.minute(at),
        text: escapeLabels(truncateMiddle(text, MAX_TEXT)),
      }),
    )
    .map((note) => note.trim())
    .join("\n");
}
