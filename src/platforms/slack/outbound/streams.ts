import type { Logger } from "pino";
import { BoundedMap } from "../../../async/bounded-map.ts";
import type { ChannelAddress } from "../../../core/ids.ts";
import type { OutboundMessage, WorkStep } from "../../../core/message.ts";
import { sliceWhole } from "../../../text/text.ts";
import { isDm, messageId, placeOf, PLATFORM_NAME } from "../address.ts";
import { posted } from "../inbound/payload.ts";
import type { SlackApi } from "../web/api.ts";
import { nothing } from "../web/names.ts";
import type { KnownNames, KnownPeople } from "../../shared/known-people.ts";
import type { Recipients } from "../web/recipients.ts";
import { SlackError } from "../web/slack-error.ts";
import type { StreamBudget } from "../web/stream-budget.ts";
import type { Content } from "./content.ts";
import { keyMetadata, ownMessage } from "./own-message.ts";
import { settledPart, toStreamMarkdown } from "./stream-markdown.ts";

interface StreamsParts {
  readonly api: SlackApi;
  /** With a longer timeout. */
  readonly patient: SlackApi;
  readonly people: KnownPeople;
  readonly recipients: Recipients;
  readonly budget: StreamBudget;
  readonly content: Content;
  readonly log: Logger;
  /** A reader has stopped an answer. @param user who it was for; null: unknown */
  readonly onStopped: (channel: ChannelAddress, user: string | null) => void;
}

/**
 * The outcome of an edit. `over`: the message is no stream, or no longer one, and does not show the text yet. `retouch`: it
 * shows the text, below another that is void.
 */
type StreamEdit = "done" | "over" | "retouch";

interface Stream {
  readonly key: string;
  /** The visible part of the text; what was shown before it is void. */
  shown: string;
  hasVoid: boolean;
  /** An append or stop was sent, and its outcome is unknown. */
  isUncertain: boolean;
  /** The shown steps, by id. */
  readonly steps: Map<string, WorkStep>;
}

const MAX_STREAMS = 2000;
const MAX_KNOWN = 5000;
/** How long a channel is left alone that takes no streams, ms. */
const REFUSED_MS = 600_000;

/**
 * Slack's native streams: messages that grow. A stream takes pieces at its end only, its content is chunks from its first piece
 * on, and Slack ends it after some minutes. Whatever a stream refuses is shown by an edit of the same message instead.
 *
 *   start → grows, piece by piece → finish (the rest, and the key by which it is found again)
 *                │ refused, void text, unknown outcome, a new process
 *                └─────────────────► end → edits
 */
export class Streams {
  readonly #parts: StreamsParts;
  readonly #open = new BoundedMap<Stream>(MAX_STREAMS);
  /** Ids of ended streams; true: a reader has ended it. */
  readonly #former = new BoundedMap<boolean>(MAX_KNOWN);
  /** Until when a channel is not asked for a stream, by Slack's id. */
  readonly #refusedUntil = new BoundedMap<number>(MAX_KNOWN);

  constructor(parts: StreamsParts) {
    this.#parts = parts;
  }

  /** The message is, or was, a stream. */
  has(id: string): boolean {
    return this.#open.has(id) || this.#former.has(id);
  }

  /** Whether an answer there may be a stream, as far as is known. */
  mayBegin(address: ChannelAddress): boolean {
    const { channel, threadTs } = placeOf(address);
    return threadTs !== null && performance.now() >= (this.#refusedUntil.get(channel) ?? 0);
  }

  /** A message of another process is a stream. */
  found(id: string): void {
    if (!this.has(id)) this.#former.set(id, false);
  }

  /**
   * Begins a message as a stream.
   * @returns its id; null: this channel or Slack takes no stream now, and nothing was posted
   * @throws SlackError without a code: it may be there
   */
  async start(message: OutboundMessage): Promise<string | null> {
    const { channel, threadTs } = placeOf(message.channel);
    const { patient, budget, log } = this.#parts;
    const recipient = this.#recipientOf(message);
    if (!this.mayBegin(message.channel) || recipient === null || !budget.mayStart()) return null;
    const text = toStreamMarkdown(settledPart(message.text, this.#names(message)), this.#names(message));
    const steps = message.steps ?? [];
    const args = {
      channel,
      thread_ts: threadTs,
      ...recipient,
      ...displayOf(steps),
      ...chunksOf(text, steps),
    };
    try {
      const { ts, channel: where } = await patient.call("chat.startStream", args, posted);
      const id = messageId(where, ts);
      const known = new Map(steps.map((step) => [step.id, step]));
      const { idempotencyKey: key } = message;
      this.#open.set(id, { key, shown: text, hasVoid: false, isUncertain: false, steps: known });
      budget.started(message.idempotencyKey);
      return id;
    } catch (error) {
      if (!(error instanceof SlackError) || error.code === null) throw error;
      if (error.code === "ratelimited") budget.limited(error.retryAfterMs ?? 0);
      else {
        this.#refusedUntil.set(channel, performance.now() + REFUSED_MS);
        log.info({ platform: PLATFORM_NAME, channel, why: error.message }, "stream_refused");
      }
      return null;
    }
  }

  /**
   * Shows a further piece, or the final text.
   * @throws SlackError if a reader has stopped it, or the outcome is unknown
   */
  async edit(id: string, message: OutboundMessage): Promise<StreamEdit> {
    const stream = this.#open.get(id);
    if (stream === undefined) return this.#former.get(id) === true ? "done" : "over";
    if (stream.isUncertain) return this.#giveUp(id, message);
    return message.final ? this.#finish(id, stream, message) : this.#grow(id, stream, message);
  }

  /**
   * Ends a stream without a text, so that the message can be edited or deleted. Does nothing if it has ended.
   * @throws SlackError if that is unknown, or Slack limits the rate
   */
  async end(id: string, idempotencyKey: string): Promise<void> {
    try {
      const args = { ...ownMessage(id), metadata: keyMetadata(idempotencyKey) };
      await this.#parts.api.call("chat.stopStream", args, nothing);
    } catch (error) {
      if (!(error instanceof SlackError) || error.code === null || error.code === "ratelimited") throw error;
    }
    this.#forget(id);
  }

  async #giveUp(id: string, { idempotencyKey }: OutboundMessage): Promise<"over"> {
    await this.end(id, idempotencyKey);
    return "over";
  }

  #forget(id: string, isStopped = false): void {
    const stream = this.#open.get(id);
    if (stream !== undefined) this.#parts.budget.ended(stream.key);
    this.#open.delete(id);
    this.#former.set(id, isStopped);
  }

  async #grow(id: string, stream: Stream, message: OutboundMessage): Promise<StreamEdit> {
    const names = this.#names(message);
    const text = toStreamMarkdown(settledPart(message.text, names), names);
    const steps = (message.steps ?? []).filter(
      ({ id: step, state }) => stream.steps.get(step)?.state !== state,
    );
    const isShown = stream.shown.startsWith(text);
    if (isShown && steps.length === 0) return "done";
    const isVoid = !isShown && !text.startsWith(stream.shown);
    const piece = isShown
      ? ""
      : isVoid
        ? `${gapAfter(stream.shown)}${text}`
        : text.slice(stream.shown.length);
    try {
      await this.#append(id, stream, piece, steps);
    } catch (error) {
      return await this.#refused(id, stream, message, error);
    }
    for (const step of steps) stream.steps.set(step.id, step);
    stream.hasVoid ||= isVoid;
    if (!isShown) stream.shown = text;
    return "done";
  }

  async #append(id: string, stream: Stream, piece: string, steps: readonly WorkStep[] = []): Promise<void> {
    this.#parts.budget.appended(stream.key);
    const args = { ...ownMessage(id), ...chunksOf(piece, steps) };
    await this.#parts.api.call("chat.appendStream", args, nothing);
  }

  async #finish(id: string, stream: Stream, message: OutboundMessage): Promise<StreamEdit> {
    const text = toStreamMarkdown(message.text, this.#names(message));
    if (!text.startsWith(stream.shown)) return this.#giveUp(id, message);
    const rest = text.slice(stream.shown.length);
    const metadata = keyMetadata(message.idempotencyKey);
    try {
      const blocks = this.#parts.content.feedbackBlocks(message);
      const ended = endedSteps(stream.steps, message);
      const args = {
        ...ownMessage(id),
        ...chunksOf(rest, ended),
        metadata,
        ...(blocks !== null && { blocks }),
      };
      await this.#parts.patient.call("chat.stopStream", args, nothing);
    } catch (error) {
      const isLimited = error instanceof SlackError && error.code === "ratelimited";
      // Readers need not wait for the end of the stream.
      if (isLimited && rest !== "" && (await this.#appended(id, stream, rest))) stream.shown = text;
      if (isLimited) throw error;
      return await this.#refused(id, stream, message, error);
    }
    this.#forget(id);
    return stream.hasVoid ? "retouch" : "done";
  }

  async #appended(id: string, stream: Stream, piece: string): Promise<boolean> {
    try {
      await this.#append(id, stream, piece);
      return true;
    } catch (error) {
      stream.isUncertain = !(error instanceof SlackError) || error.code === null;
      return false;
    }
  }

  /** What becomes of a stream after a failed append or stop. */
  async #refused(id: string, stream: Stream, message: OutboundMessage, error: unknown): Promise<StreamEdit> {
    const { budget, log, onStopped } = this.#parts;
    if (!(error instanceof SlackError) || error.code === null) {
      stream.isUncertain = true;
      throw error;
    }
    switch (error.code) {
      case "ratelimited":
        budget.limited(error.retryAfterMs ?? 0);
        // A later piece brings this one.
        return "done";
      case "stopped_by_user": {
        this.#forget(id, true);
        const { channel } = message;
        log.info({ platform: PLATFORM_NAME, channel: channel.name }, "answer_stopped_by_reader");
        if (message.final) return "done";
        onStopped(channel, this.#parts.recipients.of(message.inReplyTo)?.user ?? null);
        throw error;
      }
      case "message_not_in_streaming_state":
        this.#forget(id);
        return "over";
      default:
        log.info({ platform: PLATFORM_NAME, why: error.message }, "stream_refused");
        return this.#giveUp(id, message);
    }
  }

  /** The recipient's arguments; null: a stream needs one, and it is unknown or several people asked. */
  #recipientOf({ channel, inReplyTo }: OutboundMessage): object | null {
    if (isDm(placeOf(channel).channel)) return {};
    const recipient = this.#parts.recipients.of(inReplyTo);
    return recipient && { recipient_user_id: recipient.user, recipient_team_id: recipient.team };
  }

  #names({ channel }: OutboundMessage): KnownNames {
    return this.#parts.people.of(placeOf(channel).channel);
  }
}

/** The steps whose end was not shown: an answer comes after it. Pure. */
function endedSteps(steps: ReadonlyMap<string, WorkStep>, { kind }: OutboundMessage): WorkStep[] {
  const state = kind === "answer" ? "done" : "failed";
  return [...steps.values()].filter((step) => step.state === "running").map((step) => ({ ...step, state }));
}

const STATUS = { running: "in_progress", done: "complete", failed: "error" } as const;
const MAX_TITLE = 256;
const PLAN = { type: "plan_update", title: "Agents at work" };

/** Steps of other agents stand together, as a plan; the first piece decides it. Pure. */
function displayOf(steps: readonly WorkStep[]): object {
  return steps.some(({ isDelegated }) => isDelegated) ? { task_display_mode: "plan" } : {};
}

/** A stream takes chunks to its end, and nothing else, once it has begun with chunks. Pure. */
function chunksOf(text: string, steps: readonly WorkStep[]): object {
  const tasks = steps.map(({ id, title, state }) => ({
    type: "task_update",
    id,
    title: sliceWhole(title, 0, MAX_TITLE),
    status: STATUS[state],
  }));
  const plan = steps.some(({ isDelegated, state }) => isDelegated && state === "running") ? [PLAN] : [];
  const chunks = [...plan, ...tasks, ...(text === "" ? [] : [{ type: "markdown_text", text }])];
  return chunks.length === 0 ? {} : { chunks };
}

/** Separates a void text from the next; ends its open code block. Pure. */
function gapAfter(shown: string): string {
  if (shown === "") return "";
  const isInCode = (shown.match(/(?<![^\n])[^\S\n]*```/g)?.length ?? 0) % 2 === 1;
  return isInCode ? "\n```\n\n" : "\n\n";
}
