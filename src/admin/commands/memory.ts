import type { UserEntry } from "../../core/entry.ts";
import { type Memory, type MemoryDraft, whoseOf } from "../../core/memory.ts";
import { counted, displayName, storableLine } from "../../text/text.ts";
import { type CheckedMemories, checkMemories } from "../../memory/gates.ts";
import { normalWords } from "../../text/normal-text.ts";
import { inPageOrder, isOnPageOf } from "../../memory/people.ts";
import { asksOfSelf } from "../../memory/own-words.ts";
import { hasRelativeDate } from "../../memory/relative-dates.ts";
import { retryWrite } from "../../async/retry.ts";
import { parseTextCommand, type ProvingMessage } from "../../router/text-commands.ts";
import type { ChannelRow } from "../../store/channels/channels.ts";
import type { Agent } from "../../turn/agent.ts";
import {
  type AskedCommand,
  type Command,
  askingChannel,
  channelTitle,
  type CommandParts,
  placeName,
  timeOf,
} from "./command.ts";
import { keptMessage } from "./kept-message.ts";
import { formatAddress } from "../../core/ids.ts";
import { formatDays, type TimeFormat } from "../../text/time.ts";
import { displayable, displayableLine } from "../../text/displayable.ts";
import type { CitedMemory } from "../../store/memory/cited-memories.ts";
import type { ListedMemory, MemoryRecord } from "../../store/memory/memories.ts";

/** Longest statement to remember, in UTF-16 units: with a date before it, it still passes the gates. */
const MAX_LENGTH = 400;
/** Importance of a memory that a person asked for, from 0 to 1. */
const IMPORTANCE = 0.9;

export const memoryCommand: Command = {
  name: "memory",
  help: "what is remembered here, of something or of you, and who said it",
  isCommon: true,
  argument: {
    name: "query",
    form: "QUERY | me",
    help: "what it is about; me: your page, and what else you have said; alone: the newest",
  },
  allowed: "everybody",
  run: describeMemories,
};

export const rememberCommand: Command = {
  name: "remember",
  help: "keep a statement of yours for this place, in your own words",
  isCommon: true,
  argument: { name: "text", form: "TEXT", help: "what is to be remembered" },
  form: { title: "Remember", label: "What is to be remembered", maxLength: MAX_LENGTH, opensAlone: true },
  allowed: "everybody",
  keepsMessage: true,
  run: remember,
};

/** `/memory`, with the filter of recall: it shows only memories that the agent may use there. */
async function describeMemories(parts: CommandParts, command: AskedCommand): Promise<string> {
  const { channel, argument } = command;
  if (/^(?:about\s+)?me$/i.test(argument)) return describeOwn(parts, command);
  if (normalWords(argument) !== "") return describeFound(parts, command);
  const memories = await parts.store.memories.inScope(askingChannel(parts, channel), MEMORIES_ASKED);
  return formatMemories(memories, timeOf(parts, channel));
}

/** `/memory QUERY`: what fits of what the agent may use there, best first, each with what it has replaced. */
async function describeFound(
  parts: CommandParts,
  { channel, argument, asker, typed }: AskedCommand,
): Promise<string> {
  const asking = askingChannel(parts, channel);
  const self = asksOfSelf(argument, [asker.name]);
  const query = { ...asking, askers: [asker.id], self, text: argument, limit: FOUND };
  const found = await parts.recall.findWithEnded(query, FOUND_WITH_ENDED);
  const cited = await parts.store.cited.visible(
    asking,
    found.map(({ id }) => id),
  );
  const best = found.flatMap(({ id }) => cited.filter((one) => one.id === id));
  const about = `"${displayableLine(argument)}"`;
  if (best.length === 0)
    return `Nothing that is remembered here fits ${about}. ${typed("memory")} lists the newest.`;
  const ended = best.filter(({ until }) => until !== undefined).length;
  const count = `${counted(best.length, "statement")}${ended === 0 ? "" : `, ${ended} of them ended`}`;
  const head = `Remembered here about ${about}: ${count}, the best first.`;
  return [head, ...(await citedLines(parts, channel, best))].join("\n");
}

/**
 * `/memory me`: the asker's page, then the other memories visible here that the asker said, or that are about a person of that name.
 * In a direct message also the asker's own words from other places, without statements derived from them.
 */
async function describeOwn(parts: CommandParts, { channel, asker, typed }: AskedCommand): Promise<string> {
  const { cited } = parts.store;
  const asking = askingChannel(parts, channel);
  const here = await cited.about(asking, asker, MOST_OWN);
  const page = here.filter((memory) => isOnPageOf(memory, asker.name));
  const rest = here.filter((memory) => !page.includes(memory));
  const elsewhere =
    channel.kind === "dm"
      ? await cited.ownWords(channel.address.platform, asker.id, { than: channel.id }, FOUND + 1)
      : [];
  const head =
    here.length === 0
      ? ["Nothing is remembered here that you have said, or that is about you."]
      : [
          ...(await pageLines(parts, channel, page)),
          ...(rest.length === 0
            ? []
            : [
                `${page.length === 0 ? "Remembered" : "Also remembered"} here of you: ${amount(rest)}, the newest first.`,
                ...(await citedLines(parts, channel, rest.slice(0, FOUND))),
              ]),
        ];
  const others =
    elsewhere.length === 0
      ? []
      : [
          `Your words that are remembered of other places: ${amount(elsewhere)}, the newest first.`,
          ...(await Promise.all(elsewhere.slice(0, FOUND).map(async (one) => ownWords(parts, channel, one)))),
        ];
  const reach =
    channel.kind === "dm"
      ? []
      : [`What is remembered of your words elsewhere, ${typed("memory me")} tells you in a direct message.`];
  return [...head, ...others, ...reach].join("\n");
}

/** The asker's page: the most important statements, in the order of a page. */
async function pageLines(
  parts: CommandParts,
  channel: ChannelRow,
  page: readonly CitedMemory[],
): Promise<string[]> {
  if (page.length === 0) return [];
  const best = page.toSorted((a, b) => b.importance - a.importance).slice(0, FOUND);
  const count =
    page.length > FOUND ? `${FOUND} of ${page.length} statements` : counted(page.length, "statement");
  return [`Your page here: ${count}, by kind.`, ...(await citedLines(parts, channel, inPageOrder(best)))];
}

/** Memories of one person here that are looked through for the page. */
const MOST_OWN = 200;
/** Memories that are shown with their words; and the same with ended ones among them. */
const FOUND = 10;
const FOUND_WITH_ENDED = 15;

function amount(memories: readonly unknown[]): string {
  return memories.length > FOUND ? `the newest ${FOUND}` : counted(memories.length, "statement");
}

/** Each with the words that prove it, with links to them, and with where it shows. */
async function citedLines(
  parts: CommandParts,
  channel: ChannelRow,
  memories: readonly CitedMemory[],
): Promise<string[]> {
  const time = timeOf(parts, channel);
  const lines = memories.map(async (memory) => {
    const quotes = await Promise.all(
      memory.sources.map(async (source) => {
        const link = await linkTo(parts, memory, source);
        return `\n  ${displayableLine(source.author)}, ${time.minute(source.at)}: "${displayableLine(source.quote)}"${link}`;
      }),
    );
    return `${memoryLines([memory], time).join("\n")}, shows ${whereShown(memory)}${quotes.join("")}`;
  });
  return Promise.all(lines);
}

/** Only the words: statements derived from them may contain what other people have said there. */
async function ownWords(parts: CommandParts, channel: ChannelRow, memory: CitedMemory): Promise<string> {
  const time = timeOf(parts, channel);
  const words = await Promise.all(
    memory.sources.map(async (source) => {
      const link = await linkTo(parts, memory, source);
      return `${time.minute(source.at)}: "${displayableLine(source.quote)}"${link}`;
    }),
  );
  return `- #${memory.id} in ${displayableLine(channelTitle(memory.channel))}, shows ${whereShown(memory)}\n  ${words.join("\n  ")}`;
}

async function linkTo(
  { linkTo: link }: CommandParts,
  { channel }: CitedMemory,
  { messageId }: CitedMemory["sources"][number],
): Promise<string> {
  const address = messageId === null ? null : await link(channel, messageId);
  return address === null ? "" : ` ${address}`;
}

/** The places in which a memory is visible, by where it was said. */
function whereShown({ scope, from, isShared, channel: { kind } }: CitedMemory): string {
  if (scope === "dm" || kind === "dm") return from === "here" ? "in this conversation alone" : "there alone";
  if (isShared) return "in all channels of this server";
  if (kind === "thread") return from === "here" ? "in this thread alone" : "there alone";
  if (from === "parent") return "in this thread's channel and its threads";
  return from === "here" ? "in this channel and its threads" : "in that channel and its threads";
}

/** `/remember TEXT`: appends the asker's message and the memory that it proves, atomically. */
async function remember(parts: CommandParts, command: AskedCommand): Promise<string> {
  const { store, waker, agentOf } = parts;
  const { channel, argument, typed } = command;
  const words = storableLine(argument);
  if (normalWords(words) === "") return `Say what is to be remembered: ${typed("remember TEXT")}.`;
  if (words.length > MAX_LENGTH) {
    const length = counted(words.length, "character");
    return `This has ${length}, and a memory at most ${MAX_LENGTH}. Say it shorter, or in parts.`;
  }
  const message = await keptMessage(parts, command, `/remember ${words}`);
  const draft = draftMemory(agentOf(channel), message, words);
  if ("why" in draft) {
    await retryWrite(async () => store.memories.countRejected(channel.id, [draft.reason]));
    return `This is not remembered: ${draft.why}.${draft.reason === "secret" ? DELETE_SECRET : ""}`;
  }
  const { result } = await retryWrite(async () => store.people.remember(channel.id, message, draft));
  const { entry, memory, proofs } = result;
  if (memory === null) {
    void waker.mention(channel.id, entry.seq);
    return "Nothing is remembered: the message was deleted or changed meanwhile.";
  }
  void waker.notify(channel.id, entry);
  if (proofs > 1) return `That is known already, as #${memory}: it has ${counted(proofs, "proof")} now.`;
  return `Remembered for ${placeName(channel)}, as #${memory}. ${typed(`forget ${memory}`)} takes it back.`;
}

/** The memory that a message states by `/remember TEXT`; null: no such command, or no memory passes. */
export function memoryIn(
  { agentOf }: Pick<CommandParts, "agentOf">,
  channel: ChannelRow,
  message: ProvingMessage,
): MemoryDraft | null {
  const typed = parseTextCommand(message.text, (name) => name === "remember");
  const words = storableLine(typed?.argument ?? "");
  if (normalWords(words) === "" || words.length > MAX_LENGTH) return null;
  const draft = draftMemory(agentOf(channel), message, words);
  return "why" in draft ? null : draft;
}

type Refused = Pick<CheckedMemories["dropped"][number], "reason" | "why">;

const DELETE_SECRET = " If you have said it in a message, delete that: others can read it.";

/** The memory of a person's own words, after the same gates as a model's; or why it is refused. */
function draftMemory(agent: Agent, message: ProvingMessage, words: string): MemoryDraft | Refused {
  const { at, author, text, id } = message;
  const name = displayName(author.name);
  const entry: UserEntry = {
    kind: "user",
    // The log sets it.
    seq: 0,
    at,
    deleted: false,
    tokens: 0,
    author: { ...author, name },
    text,
    messageId: id,
    replyTo: null,
    addressed: false,
  };
  const item = {
    type: "fact",
    subject: name,
    // A later reader of "tomorrow" needs its date.
    statement: hasRelativeDate(words) ? `${agent.time.full(at)}: ${words}` : words,
    quote: words,
    sources: [1],
    importance: IMPORTANCE,
  };
  const { kept, dropped } = checkMemories(
    { memories: [item] },
    {
      sources: new Map([[1, entry]]),
      lines: "asked",
      promptText: agent.texts.system({ date: agent.time.day(at) }),
      agentName: agent.config.name,
      dayOf: (day) => agent.time.day(day),
    },
  );
  return kept[0] ?? dropped[0] ?? { reason: "malformed", why: "it does not pass the checks" };
}

/** Memories that `/memory` shows. */
const SHOWN = 30;
/** Memories to fetch: one more shows whether there are more. */
export const MEMORIES_ASKED = SHOWN + 1;

/** The memories of a channel, for its people; the newest first. Pure. */
export function formatMemories(memories: readonly ListedMemory[], time: TimeFormat): string {
  if (memories.length === 0) return "Nothing is remembered here yet.";
  const isAll = memories.length < MEMORIES_ASKED;
  const shown = memories.slice(0, SHOWN);
  const head = isAll
    ? `Remembered here: ${counted(shown.length, "statement")}, the newest first.`
    : `The newest ${SHOWN} of what is remembered here:`;
  return [head, ...memoryLines(shown, time)].join("\n");
}

const SAID_AT: Readonly<Record<ListedMemory["from"], string>> = {
  here: "",
  parent: " · from the channel of this thread",
  workspace: " · from another channel",
  elsewhere: " · from another place",
};

/** Each with its number for `/forget`. */
export function memoryLines(
  memories: readonly (Memory & Partial<ListedMemory>)[],
  time: TimeFormat,
): string[] {
  return memories.map((memory) => {
    const { id, type, statement, at, refers, until, proofs, from = "here" } = memory;
    const when = until === undefined ? time.day(at) : `${time.day(at)} until ${time.day(until)}`;
    const days = refers === undefined ? "" : ` · about ${formatDays(refers)}`;
    const source = `${displayableLine(whoseOf(memory))}, ${when}, ${counted(proofs, "proof")}${days}${SAID_AT[from]}${same(memory)}${dissent(memory, time)}`;
    return `- #${id} ${displayableLine(statement)}\n  ${type} · ${source}`;
  });
}

function same({ sameAs }: Pick<Memory, "sameAs">): string {
  return sameAs === undefined ? "" : ` · says the same as #${sameAs}`;
}

function dissent({ otherwise = [] }: Pick<Memory, "otherwise">, time: TimeFormat): string {
  return otherwise
    .map(
      (other) =>
        ` · ${displayableLine(other.assertedBy)} said otherwise on ${time.day(other.at)} (#${other.id})`,
    )
    .join("");
}

export function formatMemoryCard(memory: MemoryRecord, time: TimeFormat): string {
  const { id, type, scope, agent, channel, subject, statement } = memory;
  const number = `#${id}`.padEnd(6);
  const about = `${type} about ${displayableLine(subject)}`;
  const where = `${scope} ${displayableLine(formatAddress(channel))}, agent ${displayableLine(agent)}`;
  const who = `${displayableLine(whoseOf(memory))}, ${describeMemory(memory, time)}`;
  const sources = memory.sources.map(
    ({ seq, at: saidAt, author, quote }) =>
      `        ${String(seq).padStart(6)}  ${time.minute(saidAt)}  ${displayableLine(author)}: "${displayableLine(quote)}"`,
  );
  const body = displayable(statement).replaceAll("\n", "\n        ");
  return [`${number}  ${about} · ${where}`, `        ${body}`, `        ${who}`, ...sources].join("\n");
}

/** Since when a memory holds, how well it is proved and who disagrees, for the operator. Pure. */
export function describeMemory(memory: MemoryRecord, time: TimeFormat): string {
  const { at, until, proofs, importance, refers } = memory;
  const when = until === undefined ? time.minute(at) : `${time.minute(at)} until ${time.minute(until)}`;
  const days = refers === undefined ? "" : `, about ${formatDays(refers)}`;
  const imported = memory.imported === true ? ", imported" : "";
  return `${when}, ${counted(proofs, "proof")}, importance ${importance.toFixed(2)}${days}${imported}${same(memory)}${dissent(memory, time)}`;
}
