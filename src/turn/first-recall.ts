import type { UserEntry } from "../core/entry.ts";
import { dueMessages, type History } from "../core/history.ts";
import type { AgentConfig } from "../config/config.ts";
import type { Seq } from "../core/ids.ts";
import type { ChannelKind } from "../core/message.ts";
import { type Wanted, wantedBy } from "../memory/recall-worth.ts";

/** Most recalled entries, and most memories, of a turn, by how much its messages ask for. */
const LIMITS: Readonly<Record<Wanted, { readonly entries: number; readonly memories: number }>> = {
  told: { entries: 20, memories: 6 },
  one: { entries: 120, memories: 36 },
  several: { entries: 160, memories: 48 },
};

/** The parts of a message that a look-up uses. */
export type AskingMessage = Pick<UserEntry, "author" | "text" | "replyTo">;

/** A turn's search before its first model call: a text and limits; 0: no search. */
export interface FirstRecall {
  readonly text: string;
  /** The authors of the text, each once. */
  readonly askers: readonly { readonly id: string; readonly name: string }[];
  /** Ids of the messages that it replies to. */
  readonly repliesTo: readonly string[];
  readonly entries: number;
  readonly memories: number;
}

/** How an agent may search a channel. */
export interface Recallable {
  readonly recall: AgentConfig["memory"]["recall"];
  /** Memories of other channels may show here, which are never in view. */
  readonly seesElsewhere: boolean;
}

/**
 * Whether memories of other channels may show in a channel. Pure.
 * @param isShared whether any channel shares memories that the agent may see; called only if needed
 */
export function seesElsewhere(
  { kind, workspace }: { readonly kind: ChannelKind; readonly workspace: string },
  isShared: () => boolean,
): boolean {
  // A thread sees the memories of its channel.
  return kind === "thread" || (kind === "channel" && workspace !== "" && isShared());
}

/** Pure. @param toSeq the last message that the turn answers */
export function firstRecall(history: History, toSeq: Seq, what: Recallable): FirstRecall {
  const due = dueMessages(history).filter(({ seq }) => seq <= toSeq);
  return recallFor(history, due, what);
}

/** The search of a turn that answers these messages. Pure. */
export function recallFor(
  history: History,
  messages: readonly AskingMessage[],
  { recall, seesElsewhere: isElsewhere }: Recallable,
): FirstRecall {
  const isAllInView = Math.max(history.coveredTo, history.omittedTo) === 0;
  const text = messages.map((one) => one.text).join("\n");
  const limits = LIMITS[wantedBy(text)];
  return {
    text,
    askers: askersOf(messages),
    repliesTo: messages.flatMap(({ replyTo }) => replyTo ?? []),
    entries: !isAllInView && recall !== "memories" && recall !== "off" ? limits.entries : 0,
    // The sources of this channel's own memories are in view: a query would cost each turn and find nothing new.
    memories:
      (!isAllInView || isElsewhere) && recall !== "messages" && recall !== "off" ? limits.memories : 0,
  };
}

/** The authors of these messages, each once, by the name in their last one. Pure. */
export function askersOf(messages: readonly Pick<AskingMessage, "author">[]): FirstRecall["askers"] {
  return [...new Map(messages.map(({ author: { id, name } }) => [id, { id, name }])).values()];
}
