import { REDACTED_AT_ONCE, redactMessages } from "../router/redact-messages.ts";
import { retryWrite } from "../async/retry.ts";
import type { ChannelRow } from "../store/channels/channels.ts";
import type { OwnedMemory } from "../store/memory/memories.ts";
import {
  type AskedCommand,
  type Command,
  askingChannel,
  type CommandParts,
  placeName,
  type Typed,
} from "./command.ts";
import { endLearned } from "./learned.ts";
import { MEMORIES_ASKED, memoryLines } from "./memory.ts";
import { howToOwn, isOwner } from "./permissions.ts";
import { memoryId } from "../core/ids.ts";
import type { Memory } from "../core/memory.ts";
import { counted } from "../text/text.ts";
import type { TimeFormat } from "../text/time.ts";
import { displayableLine } from "../text/displayable.ts";

/** Time limit of one command, ms. */
const WITHIN_MS = 10_000;

const ABOUT_ME = /^(?:(?:all|everything) about )?me( yes)?$/;

export const forgetCommand: Command = {
  name: "forget",
  help: "forget a memory, end what was learned, or forget everything that you have said here",
  argument: {
    name: "what",
    form: "NUMBER | L1 | me",
    help: "the number that /memory or /learned shows, or all of yours",
  },
  allowed: "everybody",
  run: forget,
};

/** `/forget`, `/forget NUMBER`, `/forget L1`, `/forget me`, `/forget me yes` */
async function forget(parts: CommandParts, command: AskedCommand): Promise<string> {
  const wanted = command.argument.toLowerCase().replaceAll(/\s+/g, " ");
  const number = /^#?(\d{1,15})$/.exec(wanted)?.[1];
  if (number !== undefined) return forgetOne(parts, command, Number(number));
  const learned = /^l(\d{1,15})$/.exec(wanted)?.[1];
  if (learned !== undefined) return endLearned(parts, command, Number(learned));
  const aboutMe = ABOUT_ME.exec(wanted);
  if (aboutMe !== null)
    return aboutMe[1] === undefined ? askFirst(parts, command) : forgetAll(parts, command);
  return explain(parts, command);
}

async function explain(parts: CommandParts, { channel, asker, typed }: AskedCommand): Promise<string> {
  const { memories } = parts.store;
  const own = await memories.assertedBy(askingChannel(parts, channel), asker.id, MEMORIES_ASKED);
  return explainForget(own, parts.agentOf(channel).time, typed);
}

async function askFirst({ store }: CommandParts, { channel, asker, typed }: AskedCommand): Promise<string> {
  return warnOfAll(await store.people.countSaid(channel.id, asker.id), placeName(channel), typed);
}

/** Forgets one memory, with the messages that prove it. Only its author or an owner may do so. */
async function forgetOne(
  parts: CommandParts,
  { channel, asker, typed }: AskedCommand,
  id: number,
): Promise<string> {
  const { store, owners } = parts;
  const asking = askingChannel(parts, channel);
  const memory = await store.memories.find(asking, id);
  if (memory === undefined) {
    const [elsewhere] = await store.memories.visible(asking, [memoryId(id)]);
    return elsewhere === undefined
      ? `There is no memory #${id} here. ${typed("memory")} lists them with their numbers.`
      : `#${id} was said in another channel: it is forgotten there, by the same command.`;
  }
  const { platform } = channel.address;
  const ownsPlace = isOwner(asker, { platform, kind: channel.kind, workspace: channel.workspace }, owners);
  if (memory.asserter !== asker.id && !ownsPlace) {
    const whose = memory.asserter === null ? "my own statement" : `${memory.assertedBy}'s statement`;
    const who = memory.asserter === null ? "an owner" : `${memory.assertedBy} or an owner`;
    return `#${id} is ${whose}: only ${who} may have it forgotten. ${howToOwn(platform)}`;
  }
  // Others' messages stay, unless an owner decides.
  const messages = memory.messages.filter(({ author }) => ownsPlace || author === asker.id);
  const ids = messages.map((message) => message.id);
  const redacted = await redactEverywhere(parts, channel, ids);
  const others = memory.messages.length - messages.length;
  const isLeft = await takeMemory(parts, channel, memory);
  return formatForgotten(memory, {
    messages: redacted.messages,
    others,
    // If no other message proved the memory, `redacted` has counted it.
    otherMemories: Math.max(0, redacted.memories - (isLeft ? 0 : 1)),
  });
}

/** Blanks all copies of messages: the root of a thread is in its channel and in the thread. */
async function redactEverywhere(
  parts: CommandParts,
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
async function takeMemory(parts: CommandParts, channel: ChannelRow, { id }: OwnedMemory): Promise<boolean> {
  const { result, isRepeated } = await retryWrite(async () =>
    parts.store.people.forgetMemory(channel.id, id),
  );
  if (!result && !isRepeated) return false;
  // Stored tool results refer to it by number: memory is rendered anew, and a running turn begins again.
  await (await parts.registry.inMemory(channel.id))?.changed(0, null);
  return true;
}

/** In bounded batches, each one transaction: a later failure undoes no batch. */
async function forgetAll(parts: CommandParts, { channel, asker, typed }: AskedCommand): Promise<string> {
  const { people, channels } = parts.store;
  const until = performance.now() + WITHIN_MS;
  let messages = 0;
  let memories = 0;
  let isDone = false;
  while (!isDone && performance.now() < until) {
    const places = await people.said(channel.id, asker.id, REDACTED_AT_ONCE);
    isDone = places.length === 0;
    for (const place of places) {
      const row = await channels.find(place.channel);
      if (row === undefined) throw new Error("a channel with messages has no row");
      const redacted = await redactMessages(parts, row, place.messageIds);
      messages += redacted.seqs.length;
      memories += redacted.memories;
    }
  }
  const left = isDone ? 0 : (await people.countSaid(channel.id, asker.id)).messages;
  return formatAllForgotten({ messages, memories, left }, placeName(channel), typed);
}

/** Answers of `/forget`. Pure. */

const usage = (typed: Typed): string =>
  `${typed("forget NUMBER")} forgets a memory by its number, with the messages that it comes from. ` +
  `${typed("forget L1")} ends what ${typed("learned")} shows by that number. ` +
  `${typed("forget me")} forgets everything that you have said here.`;

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

/** The effect and its limits. */
const REACH =
  "Their text goes from the log, from summaries and from what can be recalled; that you wrote, and when, stays. " +
  "What others and I have said stays. The platform keeps its own copies: delete them there.";

const memoriesOf = (count: number): string => counted(count, "memory", "memories");

/** @param place `this channel` */
function warnOfAll(
  count: { readonly messages: number; readonly memories: number },
  place: string,
  typed: Typed,
): string {
  if (count.messages === 0) return `There is nothing of yours in ${place}.`;
  const what = `${counted(count.messages, "message")} of yours, and ${memoriesOf(count.memories)} that nobody else bears`;
  return `In ${place} that is ${what}. ${REACH} Other channels, threads and direct messages are not touched. This cannot be undone. To do it: ${typed("forget me yes")}`;
}

/** @param done `left`: messages that are still to be blanked */
function formatAllForgotten(
  done: { readonly messages: number; readonly memories: number; readonly left: number },
  place: string,
  typed: Typed,
): string {
  if (done.messages === 0 && done.left === 0) return `There is nothing of yours in ${place}.`;
  const what = `${counted(done.messages, "message")} of yours in ${place}, and ${memoriesOf(done.memories)}`;
  const more =
    done.left === 0
      ? ""
      : ` ${counted(done.left, "message")} of yours are left: ${typed("forget me yes")} goes on.`;
  return `Forgotten: ${what}. ${REACH}${more}`;
}

function formatForgotten(
  { id, statement }: Pick<Memory, "id" | "statement">,
  taken: {
    /** Blanked messages. */
    readonly messages: number;
    /** Messages of others that say the same and stay. */
    readonly others: number;
    /** Other memories that only these messages proved. */
    readonly otherMemories: number;
  },
): string {
  const { messages, others, otherMemories } = taken;
  const parts = [`Forgotten: #${id}, "${displayableLine(statement)}".`];
  if (messages > 0)
    parts.push(
      `${counted(messages, "message")} that it came from lost ${messages === 1 ? "its" : "their"} text, in the log and in summaries.`,
    );
  if (otherMemories > 0)
    parts.push(`${memoriesOf(otherMemories)} more came from there alone, and went, too.`);
  if (others > 0) parts.push(`${counted(others, "message")} of others that say so stay: they are theirs.`);
  return parts.join(" ");
}
