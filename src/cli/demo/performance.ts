import { pause } from "../../async/clock.ts";
import type { Seq } from "../../core/ids.ts";
import type { InboundMessage, OutboundMessage } from "../../core/message.ts";
import type { Daemon } from "../../daemon/daemon.ts";
import type { WeirEvent } from "../../telemetry/events.ts";
import { aborted } from "../shared/io.ts";
import { DEMO_CHANNEL } from "./demo-platform.ts";
import { type Level, readLevel } from "./level.ts";
import type { SlowSummaries } from "./slow-summaries.ts";
import type { Stage } from "./stage.ts";
import { formatNumber } from "../../text/format.ts";
import { counted } from "../../text/text.ts";
import type { Tier } from "../../core/compaction.ts";

/** How a message that asks the agent begins. */
export const MENTION = "@weir ";
/** Between messages, ms at speed 1: people type and read. */
const PAUSE = { least: 220, perCharacter: 2.5, most: 900, afterAnswer: 1300 };
/** Without waits, the level is read after so many messages, and at each event that explains it. */
const LEVEL_EVERY = 10;

export interface PerformanceParts {
  readonly stage: Stage;
  readonly slow: SlowSummaries;
  /** See `DemoOptions`. */
  readonly speed: number;
}

/** Says the recorded messages to a daemon, and shows what the daemon makes of them. */
export class Performance {
  readonly #parts: PerformanceParts;
  readonly #figures = new Figures();
  readonly #awaited = new Map<string, () => void>();
  /** The messages that the log has acknowledged. */
  readonly #said: { readonly message: InboundMessage; readonly seq: Seq }[] = [];
  #lastAnswer = "";
  #level: Level | null = null;
  /** Messages left the view without a summary. */
  #isOmitting = false;
  /** Explanations are shown in the order of their events. */
  #explaining: Promise<void> = Promise.resolve();
  /** The time in the recording. */
  now = new Date();

  constructor(parts: PerformanceParts) {
    this.#parts = parts;
  }

  /** To be called for each text of the agent. */
  sent({ text, inReplyTo, final }: OutboundMessage): void {
    if (!final) return;
    this.#lastAnswer = text;
    this.#parts.stage.agent("weir", text);
    this.#figures.answered(inReplyTo);
    this.#release(inReplyTo);
  }

  /**
   * Says all messages, or those until the end is wanted. A message that asks waits for its answer, and for nothing else.
   * @param running resolves unless the person pauses
   */
  async play(
    daemon: Daemon,
    messages: readonly InboundMessage[],
    { ending, running }: { readonly ending: AbortSignal; readonly running: () => Promise<void> },
  ): Promise<void> {
    const { stage, slow, speed } = this.#parts;
    daemon.events.on((event) => {
      if (!ending.aborted) this.#event(daemon, event);
    });
    for (const [index, message] of messages.entries()) {
      await running();
      await this.#explaining;
      await stage.explained(ending);
      if (ending.aborted) return;
      this.now = message.at;
      stage.person(message.author.name, message.text, message.at);
      const answer = message.addressed ? this.#answerTo(message.id) : null;
      // The mention is in each question, and would make all of them alike.
      const text = message.addressed ? message.text.slice(MENTION.length) : message.text;
      const receipt = await daemon.inbox.receive({ ...message, text });
      if (receipt.outcome === "accepted") this.#said.push({ message, seq: receipt.seq });
      slow.step();
      if (answer !== null) await Promise.race([answer, aborted(ending)]);
      if (speed !== Infinity || index % LEVEL_EVERY === 0) await this.#look(daemon);
      if (speed !== Infinity) await pause(pauseMs(message) / speed, ending);
    }
  }

  /** Resolves once nothing is read any more: the daemon may be closed. */
  async settled(): Promise<void> {
    await this.#explaining;
  }

  /** The table at the end, from the log. */
  async figures(daemon: Daemon): Promise<string> {
    await this.#explaining;
    const level = await this.#look(daemon);
    const channel = await daemon.store.channels.find(DEMO_CHANNEL);
    const entries =
      channel === undefined ? [] : await daemon.store.log.readCurrent(channel.id, 1, channel.lastSeq);
    const inLog = new Set(entries.flatMap((entry) => (entry.kind === "user" ? [entry.messageId] : [])));
    const table = this.#figures.table({
      said: this.#said.length,
      lost: this.#said.filter(({ message }) => !inLog.has(message.id)).length,
      memories: level?.memories ?? 0,
    });
    return [this.#found(level), table].filter((part) => part !== null).join("\n\n");
  }

  /** Whether the last answer has words that left the view; null: it has none. */
  #found(level: Level | null): string | null {
    const quote = /^> (.+)$/m.exec(this.#lastAnswer)?.[1];
    if (quote === undefined) return null;
    const source = this.#said.find(({ message }) => message.text.includes(quote));
    if (source === undefined || source.seq > (level?.coveredTo ?? 0)) return null;
    const day = source.message.at.toISOString().slice(0, 10);
    return `The last answer quotes a message of ${day}, which left the view long ago.`;
  }

  async #answerTo(messageId: string): Promise<void> {
    this.#figures.asked(messageId);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#awaited.set(messageId, resolve);
    return promise;
  }

  #release(messageIds: readonly string[]): void {
    for (const id of messageIds) {
      this.#awaited.get(id)?.();
      this.#awaited.delete(id);
    }
  }

  #event(daemon: Daemon, event: WeirEvent): void {
    this.#figures.event(event);
    // A turn without an answer sends no text.
    if (event.type === "turn_settled" && event.outcome !== "answered") this.#release(event.inReplyTo);
    if (event.type !== "emergency" && event.type !== "compaction") return;
    this.#explaining = this.#explaining.then(async () => this.#explain(daemon, event));
  }

  async #explain(daemon: Daemon, event: WeirEvent): Promise<void> {
    const before = this.#level?.usage ?? 0;
    const level = await this.#look(daemon);
    const after = level?.usage ?? 0;
    const isCommit = event.type === "compaction" && event.phase === "committed";
    if (event.type === "emergency") this.#isOmitting = true;
    const isHealed = isCommit && this.#isOmitting && level?.omitted === 0;
    if (isHealed) this.#isOmitting = false;
    // A turn that begins meanwhile may recall less: the event was decided by the higher one.
    const usage = isCommit ? after : Math.max(before, after);
    const text = explain(event, { percent: Math.round(usage * 100), isHealed });
    if (text !== null) this.#parts.stage.explain(text);
  }

  async #look(daemon: Daemon): Promise<Level | null> {
    this.#level = (await readLevel(daemon, this.now)) ?? this.#level;
    if (this.#level === null) return null;
    this.#figures.level(this.#level.usage);
    this.#parts.stage.level(this.#level);
    return this.#level;
  }
}

function pauseMs({ text, addressed }: InboundMessage): number {
  const { least, perCharacter, most, afterAnswer } = PAUSE;
  return Math.min(least + perCharacter * text.length, most) + (addressed ? afterAnswer : 0);
}

/**
 * Explains an event in one line to a person who sees Weir for the first time. Pure.
 * @param situation.percent how full the window is now
 * @param situation.isHealed it ends an emergency: each message is in view again, or has a summary
 * @returns null: the event needs no words
 */
function explain(
  event: WeirEvent,
  { percent, isHealed }: { readonly percent: number; readonly isHealed: boolean },
): string | null {
  if (event.type === "emergency") {
    const { omitted } = event;
    return `${percent} %: ${omitted} old messages leave the view now, without a model; the log keeps them`;
  }
  if (event.type !== "compaction") return null;
  if (event.phase === "started") return `${percent} %: ${begun(event)}`;
  if (event.phase !== "committed") return null;
  return `${isHealed ? "healed: " : ""}${done(event)}; now ${percent} %`;
}

type Compaction = WeirEvent & { readonly type: "compaction" };

/** Nearly all entries of a range are messages. */
const lengthOf = ({ fromSeq, toSeq }: Compaction): number => toSeq - fromSeq + 1;

function begun(event: Compaction): string {
  if (event.kind === "merge") return "older summaries are being merged into one; answers go on";
  if (event.kind === "redo") return "a summary is being written again; answers go on";
  const count = lengthOf(event);
  switch (event.tier) {
    case "aggressive":
      return `room is short, ${count} messages are being summarised; answers go on`;
    case "emergency":
      return `${count} messages out of view are being summarised; answers go on`;
    default:
      return `${count} old messages are being summarised; the channel goes on answering`;
  }
}

function done(event: Compaction): string {
  const { kind, tier, tokensBefore, tokensAfter, memories } = event;
  const sizes = `${formatNumber(tokensBefore)} tokens became ${formatNumber(tokensAfter ?? 0)}`;
  if (kind === "merge") return `older summaries merged: ${sizes}`;
  if (kind === "redo") return `a summary was written again: ${sizes}`;
  const count = lengthOf(event);
  if (tier === "emergency") return `${count} messages out of view summarised, ${sizes}`;
  const kept = memories === 0 ? "" : `, ${counted(memories, "memory", "memories")} kept`;
  return `${count} messages summarised: ${sizes}${kept}`;
}

/** Counts what happens, for the end. */
class Figures {
  readonly #leaves: Record<Tier, number> = { background: 0, aggressive: 0, emergency: 0, forced: 0 };
  readonly #asked = new Map<string, number>();
  #merges = 0;
  #emergencies = 0;
  #answered = 0;
  #longestMs = 0;
  #highest = 0;

  event(event: WeirEvent): void {
    if (event.type === "emergency") this.#emergencies++;
    if (event.type !== "compaction" || event.phase !== "committed") return;
    if (event.kind === "leaf") this.#leaves[event.tier]++;
    if (event.kind === "merge") this.#merges++;
  }

  level(usage: number): void {
    this.#highest = Math.max(this.#highest, usage);
  }

  asked(messageId: string): void {
    this.#asked.set(messageId, performance.now());
  }

  answered(messageIds: readonly string[]): void {
    for (const id of messageIds) {
      const since = this.#asked.get(id);
      if (since === undefined) continue;
      this.#answered++;
      this.#longestMs = Math.max(this.#longestMs, performance.now() - since);
    }
  }

  /**
   * The table at the end.
   * @param counts.said messages that the log has acknowledged @param counts.lost those of them that it does not have
   */
  table(counts: { readonly said: number; readonly lost: number; readonly memories: number }): string {
    const leaves = Object.entries(this.#leaves)
      .filter(([, count]) => count > 0)
      .map(([tier, count]) => `${formatNumber(count)} ${tier}`);
    const seconds = (this.#longestMs / 1000).toFixed(2);
    const asked = this.#asked.size;
    const rows = [
      ["messages", `${formatNumber(counts.said)} said, ${formatNumber(counts.lost)} lost`],
      ["answers", `${formatNumber(this.#answered)} of ${formatNumber(asked)}, longest wait ${seconds} s`],
      ["summaries", `${leaves.join(", ") || "none"}; ${counted(this.#merges, "merge")} of older ones`],
      ["window", `${Math.round(this.#highest * 100)} % at most, with what was out of view`],
      ["emergencies", formatNumber(this.#emergencies)],
      ["memories", `${formatNumber(counts.memories)}, each with the messages that prove it`],
    ] as const;
    return rows.map(([name, value]) => `  ${name.padEnd(12)}${value}`).join("\n");
  }
}
