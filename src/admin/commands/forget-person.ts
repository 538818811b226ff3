import { REDACTED_AT_ONCE, redactMessages, redactPerson } from "../../router/redact-messages.ts";
import type { SpokenPlace } from "../../store/deletion/personal-data.ts";
import { counted } from "../../text/text.ts";
import { type AskedCommand, type CommandParts, placeName } from "./command.ts";
import type { Typed } from "./permissions.ts";

/** `/forget me`: everything that the asker has said, here or everywhere. */

/** Time limit of one command, ms. */
const WITHIN_MS = 10_000;

/** `/forget me`: what would go. */
export async function askFirst(
  { store }: CommandParts,
  { channel, asker, typed }: AskedCommand,
): Promise<string> {
  return warnOfAll(await store.people.countSaid(channel.id, asker.id), placeName(channel), typed);
}

/** `/forget me yes`, in bounded batches, each one transaction: a later failure undoes no batch. */
export async function forgetAll(
  parts: CommandParts,
  { channel, asker, typed }: AskedCommand,
): Promise<string> {
  const { people, channels } = parts.store;
  const until = performance.now() + WITHIN_MS;
  let messages = 0;
  let memories = 0;
  let isDone = false;
  await people.leaveChoices(channel.address.platform, asker.id, channel.id);
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
  if (messages === 0 && left === 0) return nothingIn(placeName(channel));
  return formatForgotten({ messages, memories, left }, placeName(channel), typed("forget me yes"));
}

/** `/forget me everywhere`: what would go. */
export async function askEverywhere({ store }: CommandParts, command: AskedCommand): Promise<string> {
  const { channel, asker, typed } = command;
  const { platform } = channel.address;
  const places = await store.people.places(platform, asker.id);
  const messages = places.reduce((sum, place) => sum + place.messages, 0);
  const { memories } = await store.people.borne(platform, asker.id);
  return warnOfEverywhere({ places: places.length, messages, memories }, platform, typed);
}

/** `/forget me everywhere yes`: in this channel first, then in all others of the platform, whichever agent answers there. */
export async function forgetEverywhere(parts: CommandParts, command: AskedCommand): Promise<string> {
  const { channel, asker, typed } = command;
  const { people } = parts.store;
  const { platform } = channel.address;
  const until = performance.now() + WITHIN_MS;
  // A person may have chosen a model without a message in the channel.
  await people.leaveChoices(platform, asker.id, null);
  const isHere = (place: SpokenPlace): number => (place.channel.id === channel.id ? 0 : 1);
  const places = (await people.places(platform, asker.id)).toSorted((a, b) => isHere(a) - isHere(b));
  let [messages, memories, done] = [0, 0, 0];
  for (const place of places) {
    const taken = await redactPerson(parts, place.channel, asker.id, () => performance.now() < until);
    messages += taken.messages;
    memories += taken.memories;
    if (taken.messages > 0) done++;
    if (!taken.isDone) break;
  }
  const left = (await people.places(platform, asker.id)).reduce((sum, place) => sum + place.messages, 0);
  if (messages === 0 && left === 0) return NOWHERE;
  return formatForgotten(
    { messages, memories, left },
    counted(done, "place"),
    typed("forget me everywhere yes"),
  );
}

/** Answers. Pure. */

/** The effect and its limits. */
export const REACH =
  "Their text goes from the log, from summaries and from what can be recalled; that you wrote, and when, stays. " +
  "What others and I have said stays. The platform keeps its own copies: delete them there.";

export const memoriesOf = (count: number): string => counted(count, "memory", "memories");

/** @param place `this channel` */
function warnOfAll(
  count: { readonly messages: number; readonly memories: number },
  place: string,
  typed: Typed,
): string {
  if (count.messages === 0) return nothingIn(place);
  const what = `${counted(count.messages, "message")} of yours, and ${memoriesOf(count.memories)} that nobody else bears`;
  return `In ${place} that is ${what}. ${REACH} Other channels, threads and direct messages are not touched: ${typed("forget me everywhere")} takes these, too. This cannot be undone. To do it: ${typed("forget me yes")}`;
}

const nothingIn = (place: string): string => `There is nothing of yours in ${place}.`;
const NOWHERE = nothingIn("any place that I know");

function warnOfEverywhere(
  count: { readonly places: number; readonly messages: number; readonly memories: number },
  platform: string,
  typed: Typed,
): string {
  const { places, messages, memories } = count;
  if (messages === 0) return NOWHERE;
  const what = `${counted(messages, "message")} of yours in ${counted(places, "place")}, and ${memoriesOf(memories)} that nobody else bears`;
  return `Everywhere on ${platform} that is ${what}. ${REACH} This cannot be undone. To do it: ${typed("forget me everywhere yes")}`;
}

/**
 * @param done `left`: messages that are still to be blanked
 * @param place `this channel`, `3 places`
 * @param goOn the command that takes them, too
 */
function formatForgotten(
  done: { readonly messages: number; readonly memories: number; readonly left: number },
  place: string,
  goOn: string,
): string {
  const { messages, memories, left } = done;
  const more = left === 0 ? "" : ` ${counted(left, "message")} of yours are left: ${goOn} goes on.`;
  return `Forgotten: ${counted(messages, "message")} of yours in ${place}, and ${memoriesOf(memories)}. ${REACH}${more}`;
}
