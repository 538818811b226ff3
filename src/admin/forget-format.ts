import type { Memory } from "../core/memory.ts";
import { counted } from "../text/text.ts";
import type { TimeFormat } from "../text/time.ts";
import { displayableLine } from "../text/displayable.ts";
import type { Typed } from "./command-table.ts";
import { memoryLines, MEMORIES_ASKED } from "./memory-format.ts";

/** What `/forget` says. Pure. */

const usage = (typed: Typed): string =>
  `${typed("forget NUMBER")} forgets a memory by its number, with the messages that it comes from. ` +
  `${typed("forget me")} forgets everything that you have said here.`;

/** @param own the asker's own memories, at most as many as are asked for */
export function explainForget(own: readonly Memory[], time: TimeFormat, typed: Typed): string {
  if (own.length === 0) return `${usage(typed)}\nNo statement of yours is remembered here.`;
  const shown = own.slice(0, MEMORIES_ASKED - 1);
  const head =
    shown.length === own.length
      ? `Yours here: ${counted(own.length, "statement")}, the newest first.`
      : `Your newest ${shown.length} here:`;
  return [usage(typed), head, ...memoryLines(shown, time)].join("\n");
}

/** What it reaches, and what not. */
const REACH =
  "Their text goes from the log, from summaries and from what can be recalled; that you wrote, and when, stays. " +
  "What others and I have said stays. The platform keeps its own copies: delete them there.";

const memoriesOf = (count: number): string => counted(count, "memory", "memories");

/** @param place `this channel` */
export function warnOfAll(
  count: { readonly messages: number; readonly memories: number },
  place: string,
  typed: Typed,
): string {
  if (count.messages === 0) return `There is nothing of yours in ${place}.`;
  const what = `${counted(count.messages, "message")} of yours, and ${memoriesOf(count.memories)} that nobody else bears`;
  return `In ${place} that is ${what}. ${REACH} Other channels, threads and direct messages are not touched. This cannot be undone. To do it: ${typed("forget me yes")}`;
}

/** @param done `left`: messages that are still to be taken */
export function formatAllForgotten(
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

/** One memory is gone. */
export function formatForgotten(
  { id, statement }: Pick<Memory, "id" | "statement">,
  taken: {
    /** Messages whose text went with it. */
    readonly messages: number;
    /** Messages of others that say so as well, and stay. */
    readonly others: number;
    /** Memories that these messages alone have borne, beside this one. */
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
