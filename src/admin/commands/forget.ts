import { redactMessages, type RedactionParts } from "../../router/redact-messages.ts";
import { retryWrite } from "../../async/retry.ts";
import type { ChannelRow } from "../../store/channels/channels.ts";
import type { Store } from "../../store/store.ts";
import type { OwnedMemory } from "../../store/memory/memories.ts";
import {
  type AskedCommand,
  type Command,
  askingChannel,
  type CommandParts,
  ownsPlace,
  timeOf,
} from "./command.ts";
import { questionTerms, terms } from "../../text/terms.ts";
import { askEverywhere, askFirst, forgetAll, forgetEverywhere, memoriesOf, REACH } from "./forget-person.ts";
import { MEMORIES_ASKED, memoryLines } from "./memory.ts";
import { howToOwn, type Typed } from "./permissions.ts";
import { readForgetMe } from "../../core/forget-me.ts";
import { type AgentId, type MemoryId, memoryId } from "../../core/ids.ts";
import type { Memory } from "../../core/memory.ts";
import { EDGELESS_SCRIPTS } from "../../text/scripts.ts";
import { counted, normalForm, plainDigits, storableLine } from "../../text/text.ts";
import { withoutUnseen } from "../../text/unseen.ts";
import type { TimeFormat } from "../../text/time.ts";
import { displayableLine } from "../../text/displayable.ts";

/** Newest memories of a channel that a query is compared with. */
const LOOKED_THROUGH = 1000;

export const forgetCommand: Command = {
  name: "forget",
  help: "forget a memory, what was learned, or all that you have said",
  isCommon: true,
  argument: {
    name: "what",
    form: "NUMBER | L1 | QUERY | me | me everywhere",
    help: "a number of /memory or /learned, words, or all of yours",
  },
  allowed: "everybody",
  run: forget,
};

/**
 * `/forget`, `/forget NUMBER`, `/forget L1`, `/forget L1 me`, `/forget QUERY`, `/forget me`, `/forget me everywhere`; the last three with `yes`
 */
async function forget(parts: CommandParts, command: AskedCommand): Promise<string> {
  const wanted = command.argument.toLowerCase().replaceAll(/\s+/g, " ");
  const number = /^#?(\d{1,15})$/.exec(wanted)?.[1];
  if (number !== undefined) return forgetOne(parts, command, Number(number));
  const [, letter = "", ofLetter, me] = /^([a-z])(\d{1,15})( me)?$/.exec(wanted) ?? [];
  const end = parts.numbered.get(letter);
  if (end !== undefined) return end(parts, command, Number(ofLetter), me === undefined ? "all" : "me");
  const aboutMe = readForgetMe(command.argument);
  if (aboutMe === null) return wanted === "" ? explain(parts, command) : forgetFitting(parts, command);
  const { isEverywhere, isConfirmed } = aboutMe;
  if (isEverywhere) return isConfirmed ? forgetEverywhere(parts, command) : askEverywhere(parts, command);
  return isConfirmed ? forgetAll(parts, command) : askFirst(parts, command);
}

async function explain(parts: CommandParts, { channel, asker, typed }: AskedCommand): Promise<string> {
  const { memories } = parts.store;
  const own = await memories.assertedBy(askingChannel(parts, channel), asker.id, MEMORIES_ASKED);
  return explainForget(own, timeOf(parts, channel), typed);
}

/**
 * `/forget QUERY`: forgets the memory that has all words of the query, if there is one; several are shown first. It searches
 * only memories that the asker may forget.
 */
async function forgetFitting(parts: CommandParts, command: AskedCommand): Promise<string> {
  const { channel, asker, typed } = command;
  const [, query = "", yes] = /^(.*?)( yes)?$/i.exec(storableLine(command.argument)) ?? [];
  const person = ownsPlace(parts, command) ? null : asker.id;
  const candidates = await parts.store.memories.assertedBy(
    askingChannel(parts, channel),
    person,
    LOOKED_THROUGH,
  );
  const fitting = memoriesWith(query, candidates);
  const [first] = fitting;
  if (first === undefined)
    return `Nothing that you may forget here has all words of "${displayableLine(query)}".\n${await explain(parts, command)}`;
  if (fitting.length === 1) return forgetOne(parts, command, first.id);
  if (fitting.length >= MEMORIES_ASKED)
    return `${fitting.length} statements have all words of "${displayableLine(query)}": that is too many at once. Say more of what is meant.`;
  if (yes === undefined) {
    const shown = memoryLines(fitting, timeOf(parts, channel));
    return warnOfFitting(query, shown, typed);
  }
  return forgetSeveral(parts, command, fitting);
}

/**
 * Memories whose statement, subject or speaker has each word of the query, however it is written, and each emoji. Where words have
 * no edges, or an article sticks to them, a part of a word does. Pure.
 */
export function memoriesWith(query: string, memories: readonly Memory[]): Memory[] {
  const looked = asTyped(query);
  const asked = [...questionTerms(looked), ...(looked.match(/\p{Extended_Pictographic}/gu) ?? [])];
  if (asked.length === 0) return [];
  return memories.filter(({ subject, assertedBy, statement }) => {
    const text = asTyped(`${subject} ${assertedBy} ${statement}`);
    const has = new Set(terms(text));
    return asked.every((term) => has.has(term) || (IS_PART.test(term) && text.includes(term)));
  });
}

/** A single character of a script without spaces, an emoji, or a word that others attach to. */
const IS_PART = new RegExp(
  `^(?:[${EDGELESS_SCRIPTS}]|\\p{Extended_Pictographic}|[\\p{Script=Arabic}\\p{Script=Hebrew}]{2,})$`,
  "u",
);
/** Accents, Hebrew points, and marks that stand above or below Arabic letters or stretch them; not the marks that change a kana. */
const ACCENTS = /(?!\u3099|\u309a)(?=\p{M})[\p{Script=Inherited}\p{Script=Hebrew}\p{Script=Arabic}]|\u0640/gu;

/** As people type in a hurry: without accents, in small letters. */
function asTyped(text: string): string {
  const plain = plainDigits(withoutUnseen(normalForm(text, "NFKC")));
  return normalForm(normalForm(plain.toLowerCase(), "NFD").replaceAll(ACCENTS, ""), "NFC").replaceAll(
    "ß",
    "ss",
  );
}

async function forgetSeveral(
  parts: CommandParts,
  command: AskedCommand,
  memories: readonly Memory[],
): Promise<string> {
  const { channel } = command;
  let [forgotten, messages, others] = [0, 0, 0];
  for (const { id } of memories) {
    // An earlier deletion of this loop may have deleted it as well.
    const memory = await parts.store.memories.find(askingChannel(parts, channel), id);
    forgotten++;
    if (memory === undefined) continue;
    const taken = await takeOne(parts, command, memory);
    messages += taken.messages;
    others += taken.others;
  }
  return formatSeveralForgotten({ forgotten, messages, others });
}

/** Forgets one memory, with the messages that prove it. Only its author or an owner may do so. */
async function forgetOne(parts: CommandParts, command: AskedCommand, id: number): Promise<string> {
  const { channel, asker, typed } = command;
  const { store } = parts;
  const asking = askingChannel(parts, channel);
  const memory = await store.memories.find(asking, id);
  if (memory === undefined) {
    const own = await forgetOwnWords(parts, command, id);
    if (own !== null) return own;
    const [elsewhere] = await store.memories.visible(asking, [memoryId(id)]);
    return elsewhere === undefined
      ? `There is no memory #${id} here. ${typed("memory")} lists them with their numbers.`
      : `#${id} was said in another channel: it is forgotten there, by the same command.`;
  }
  const { platform } = channel.address;
  if (memory.asserter !== asker.id && !ownsPlace(parts, command)) {
    const ofNobody = memory.tool === undefined ? "my own statement" : `what the tool ${memory.tool} has seen`;
    const whose = memory.asserter === null ? ofNobody : `${memory.assertedBy}'s statement`;
    const who = memory.asserter === null ? "an owner" : `${memory.assertedBy} or an owner`;
    return `#${id} is ${whose}: only ${who} may have it forgotten. ${howToOwn(platform)}`;
  }
  return formatForgotten(memory, await takeOne(parts, command, memory));
}

/**
 * In a direct message, deletes a memory of another place that `/memory me` shows: it rests on the asker's words alone.
 * @returns null: there is no such memory
 */
async function forgetOwnWords(
  parts: CommandParts,
  command: AskedCommand,
  id: number,
): Promise<string | null> {
  const { channel, asker } = command;
  if (channel.kind !== "dm") return null;
  const { cited, channels, memories } = parts.store;
  const elsewhere = { than: channel.id, id: memoryId(id) };
  const [own] = await cited.ownWords(channel.address.platform, asker.id, elsewhere, 1);
  const there = await (own && channels.find(own.channel.address));
  if (own === undefined || there === undefined) return null;
  // Another agent than the one with the memory may answer there now.
  const memory = await memories.find({ ...askingChannel(parts, there), agent: own.agent }, id);
  if (memory === undefined) return null;
  // The asker must neither learn nor delete what other people there say in the same words.
  const taken = await takeOne(parts, { ...command, channel: there }, { ...memory, standsFor: [] });
  return formatForgotten({ id: memory.id }, taken);
}

/** What deletes a memory with its messages. */
export type ForgetParts = RedactionParts &
  Pick<CommandParts, "waker"> & {
    readonly store: Pick<Store, "memories" | "people" | "channels" | "quotes">;
  };

/** Content that was deleted with a memory. */
interface Taken {
  readonly messages: number;
  /** Messages of others that say the same and stay. */
  readonly others: number;
  /** Other memories that only these messages proved. */
  readonly otherMemories: number;
}

/** Messages that prove a memory, or what it stands for, by their ids. */
function provingOf(memory: OwnedMemory): ReadonlyMap<string, OwnedMemory["messages"][number]> {
  const said = [memory, ...memory.standsFor];
  return new Map(said.flatMap((one) => one.messages.map((message) => [message.id, message])));
}

async function takeOne(parts: CommandParts, command: AskedCommand, memory: OwnedMemory): Promise<Taken> {
  const { channel, asker } = command;
  return takeWith(parts, channel, memory, ownsPlace(parts, command) ? null : asker.id);
}

/** @param whose messages and statements are deleted; null: everybody's, for an owner decides */
async function takeWith(
  parts: ForgetParts,
  channel: ChannelRow,
  memory: OwnedMemory,
  whose: string | null,
): Promise<Taken> {
  // Others' messages stay, unless an owner decides.
  const isOwners = whose === null;
  const said = [memory, ...memory.standsFor];
  const proving = provingOf(memory);
  const messages = [...proving.values()].filter(({ author }) => isOwners || author === whose);
  const redacted = await redactEverywhere(
    parts,
    channel,
    messages.map(({ id }) => id),
  );
  // The asker's own repetitions would replace it in view, so they are deleted too. Those of other people are theirs, and stay.
  const taken = said.filter((one) => one === memory || isOwners || one.asserter === whose);
  let gone = 0;
  for (const { id } of taken) if (!(await takeMemory(parts, channel, id))) gone++;
  return {
    messages: redacted.messages,
    others: proving.size - messages.length,
    // Memories that no other message proved were counted as deleted with their messages.
    otherMemories: Math.max(0, redacted.memories - gone),
  };
}

/** Blanks all copies of messages: the root of a thread is in its channel and in the thread. */
async function redactEverywhere(
  parts: ForgetParts,
  channel: ChannelRow,
  ids: readonly string[],
): Promise<{ messages: number; memories: number }> {
  const { result: places } = await retryWrite(async () => parts.store.people.copies(channel.id, ids));
  const taken = { messages: 0, memories: 0 };
  for (const place of places) {
    const row = await parts.store.channels.find(place.channel);
    if (row === undefined) throw new Error("a channel with messages has no row");
    const { seqs, memories } = await redactMessages(parts, row, place.messageIds);
    if (row.id === channel.id) taken.messages = seqs.length;
    taken.memories += memories;
  }
  return taken;
}

/** @returns whether the memory was still there, by other proofs */
async function takeMemory(parts: ForgetParts, channel: ChannelRow, id: MemoryId): Promise<boolean> {
  const { result, isRepeated } = await retryWrite(async () =>
    parts.store.people.forgetMemory(channel.id, id),
  );
  if (!result && !isRepeated) return false;
  // Stored tool results refer to it by number: memory is rendered again, and a running turn restarts.
  await parts.waker.changed(channel.id, 0, null);
  await parts.waker.memoriesGone(channel.id);
  return true;
}

/** What the operator would delete with a memory, as an owner does. */
export interface Forgetting {
  readonly memory: OwnedMemory;
  /** Messages that prove it or what it stands for, which would lose their text. */
  readonly messages: number;
  /** Other memories that rest on these messages alone. */
  readonly otherMemories: number;
}

/** @returns undefined: the agent has no such memory of this channel */
export async function readForgetting(
  { store }: Pick<ForgetParts, "store">,
  channel: ChannelRow,
  agent: AgentId,
  id: number,
): Promise<Forgetting | undefined> {
  const { id: here, workspace, kind } = channel;
  const memory = await store.memories.find({ agent, channel: here, workspace, kind }, id);
  if (memory === undefined) return undefined;
  const same = [memory, ...memory.standsFor].map((one) => one.id);
  const taken = await store.people.restingOn(here, [...provingOf(memory).keys()], same);
  return { memory, ...taken };
}

/** Forgets what was read, for the operator, as `/forget NUMBER` does for an owner. @returns a sentence without its words */
export async function forgetForOperator(
  parts: ForgetParts,
  channel: ChannelRow,
  { memory }: Pick<Forgetting, "memory">,
): Promise<string> {
  return formatForgotten({ id: memory.id }, await takeWith(parts, channel, memory, null));
}

/** Answers of `/forget`. Pure. */

const usage = (typed: Typed): string =>
  `${typed("forget NUMBER")} forgets a memory by its number, with the messages that it comes from. ` +
  `${typed("forget L1")} ends what ${typed("learned")} shows by that number, for an owner for all and else for you; ` +
  `${typed("forget L1 me")} for you alone. ` +
  `${typed("forget WORDS")} forgets what has these words. ` +
  `${typed("forget me")} forgets everything that you have said here, ${typed("forget me everywhere")} wherever I have heard you.`;

/** @param own the asker's own memories, at most {@link MEMORIES_ASKED} */
function explainForget(own: readonly Memory[], time: TimeFormat, typed: Typed): string {
  if (own.length === 0) return `${usage(typed)}\nNo statement of yours is remembered here.`;
  const shown = own.slice(0, MEMORIES_ASKED - 1);
  const head =
    shown.length === own.length
      ? `Yours here: ${counted(own.length, "statement")}, the newest first.`
      : `Your newest ${shown.length} here:`;
  return [usage(typed), head, ...memoryLines(shown, time)].join("\n");
}

/** @param lines the memories that would go */
function warnOfFitting(query: string, lines: readonly string[], typed: Typed): string {
  const head = `${counted(lines.length, "statement")} have all words of "${displayableLine(query)}":`;
  const what = `They would go, with the messages of yours that they come from. ${REACH} This cannot be undone.`;
  return [
    head,
    ...lines,
    `${what} ${typed("forget NUMBER")} forgets one of them, ${typed(`forget ${displayableLine(query)} yes`)} all.`,
  ].join("\n");
}

function formatSeveralForgotten(taken: {
  readonly forgotten: number;
  readonly messages: number;
  readonly others: number;
}): string {
  const { forgotten, messages, others } = taken;
  const texts = `${counted(messages, "message")} that they came from lost their text, in the log and in summaries.`;
  const stay =
    others === 0 ? "" : ` ${counted(others, "message")} of others that say so stay: they are theirs.`;
  return `Forgotten: ${counted(forgotten, "statement")}. ${texts}${stay}`;
}

/** @param memory without its statement if the asker may not see it */
function formatForgotten(
  { id, statement }: Pick<Memory, "id"> & Partial<Pick<Memory, "statement">>,
  taken: Taken,
): string {
  const { messages, others, otherMemories } = taken;
  const parts = [`Forgotten: #${id}${statement === undefined ? "" : `, "${displayableLine(statement)}"`}.`];
  if (messages > 0)
    parts.push(
      `${counted(messages, "message")} that it came from lost ${messages === 1 ? "its" : "their"} text, in the log and in summaries.`,
    );
  if (otherMemories > 0)
    parts.push(`${memoriesOf(otherMemories)} more came from there alone, and went, too.`);
  if (others > 0) parts.push(`${counted(others, "message")} of others that say so stay: they are theirs.`);
  return parts.join(" ");
}
