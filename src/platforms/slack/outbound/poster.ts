import type { Logger } from "pino";
import { BoundedMap } from "../../../async/bounded-map.ts";
import { errorMessage } from "../../../core/errors.ts";
import type { OutboundMessage } from "../../../core/message.ts";
import { messageId, placeOf, PLATFORM_NAME, parseMessageId } from "../address.ts";
import type { SlackApi } from "../web/api.ts";
import { SlackError } from "../web/slack-error.ts";
import { emojiName } from "./emoji.ts";
import { type Names, nothing } from "../web/names.ts";
import type { Content } from "./content.ts";
import { EarlierPosts, type Found } from "./earlier-posts.ts";
import { keyMetadata, ownMessage } from "./own-message.ts";
import { posted } from "../inbound/payload.ts";
import type { ThreadStatus } from "./status.ts";
import type { Streams } from "./streams.ts";
import type { Uploader } from "./uploader.ts";
import type { UpdateBudget } from "../web/update-budget.ts";

interface PosterParts {
  readonly api: SlackApi;
  /** With a longer timeout. */
  readonly patient: SlackApi;
  readonly names: Names;
  readonly budget: UpdateBudget;
  readonly streams: Streams;
  readonly status: ThreadStatus;
  readonly content: Content;
  readonly uploader: Pick<Uploader, "send">;
  /** Delays after a second attempt at a post before checks for a late first post, ms. */
  readonly lookAgainMs: readonly number[];
  readonly log: Logger;
}

const MAX_KEYS = 5000;

interface Post {
  readonly channel: string;
  /** Null: whether it was made is unknown. */
  readonly id: string | null;
}

/** Posts, edits and deletes the bot's messages. All calls throw SlackError. */
export class Poster {
  readonly #parts: PosterParts;
  /** Posts, by idempotency key. */
  readonly #posts = new BoundedMap<Post>(MAX_KEYS);
  /** Keys of answers that show pieces, by message id. */
  readonly #pieces = new BoundedMap<string>(MAX_KEYS);
  readonly #looks = new Set<NodeJS.Timeout>();
  readonly #earlier: EarlierPosts;

  constructor(parts: PosterParts) {
    this.#parts = parts;
    this.#earlier = new EarlierPosts(parts);
  }

  /**
   * Posts a text once per key. If an earlier attempt may have succeeded, it is searched for by the key in its
   * metadata.
   */
  async send(message: OutboundMessage): Promise<string> {
    const { idempotencyKey: key } = message;
    const known = this.#posts.get(key);
    if (typeof known?.id === "string") return known.id;
    this.#parts.status.removed(message.channel);
    const isAgain = message.mayBeThere || known !== undefined;
    const found = isAgain ? (await this.#find(message)).at(0) : undefined;
    if (found?.by === "stream") this.#parts.streams.found(found.id);
    const id = found?.id ?? (await this.#begin(message));
    this.#posts.set(key, { channel: message.channel.name, id });
    if (message.final) this.#parts.budget.ended(key);
    else this.#pieces.set(id, key);
    if (isAgain && found === undefined) this.#lookAgain(id, message);
    return id;
  }

  close(): void {
    for (const look of this.#looks) clearTimeout(look);
    this.#looks.clear();
  }

  async edit(id: string, message: OutboundMessage): Promise<void> {
    const { streams, log } = this.#parts;
    const outcome = await streams.edit(id, message);
    // Steps alone are shown by streams only.
    if (outcome === "done" || message.text === "") return;
    try {
      await this.#update(id, message);
    } catch (error) {
      const isRefused = error instanceof SlackError && !error.retryable;
      if (outcome !== "retouch" || !isRefused) throw error;
      // The text is there, below another that is void.
      log.info({ platform: PLATFORM_NAME, why: error.message }, "stream_not_retouched");
    }
  }

  async #update(id: string, message: OutboundMessage): Promise<void> {
    const { budget, streams } = this.#parts;
    const { idempotencyKey: key, final } = message;
    budget.updated(key, final);
    const isOurs = this.#pieces.has(id) || this.#posts.get(key)?.id === id;
    const mayBeStream = message.mayBeInPart === true && !isOurs;
    const wasStream = streams.has(id) || (mayBeStream && (await this.#earlier.isStream(id, message)));
    try {
      await this.#callUpdate(id, message, wasStream);
    } catch (error) {
      if (!(error instanceof SlackError && error.code === "streaming_state_conflict")) throw error;
      // An earlier process has begun it.
      await streams.end(id, key);
      await this.#callUpdate(id, message, true);
    }
  }

  async #callUpdate(id: string, message: OutboundMessage, wasStream: boolean): Promise<void> {
    const { api, budget } = this.#parts;
    const args = { ...ownMessage(id), metadata: keyMetadata(message.idempotencyKey) };
    try {
      await this.#written(message, wasStream, async (content) =>
        api.call("chat.update", { ...args, ...content }, nothing),
      );
    } catch (error) {
      if (error instanceof SlackError && error.code === "ratelimited")
        budget.limited(error.retryAfterMs ?? 0);
      throw error;
    }
  }

  /** A text goes out without its feedback buttons if Slack refuses it with them. */
  async #written<Result>(
    message: OutboundMessage,
    wasStream: boolean,
    call: (content: object) => Promise<Result>,
  ): Promise<Result> {
    const { content, log } = this.#parts;
    const rated = content.withFeedback(message);
    if (rated === null) return call(content.of(message, wasStream));
    try {
      return await call(rated);
    } catch (error) {
      if (!(error instanceof SlackError && error.kind === "rejected")) throw error;
      if (error.code === "streaming_state_conflict") throw error;
      log.info({ platform: PLATFORM_NAME, why: error.message }, "feedback_buttons_refused");
      return call(content.of(message, wasStream));
    }
  }

  async remove(id: string): Promise<void> {
    const { budget, streams } = this.#parts;
    const key = this.#pieces.get(id);
    if (key !== undefined) budget.ended(key);
    if (key !== undefined && streams.has(id)) await streams.end(id, key);
    const code = await this.#delete(id);
    if (code !== "streaming_state_conflict") return;
    // An earlier process has begun it.
    await streams.end(id, key ?? "");
    await this.#delete(id);
  }

  /** @returns Slack's code of a refusal that is no failure; null: it is deleted */
  async #delete(id: string): Promise<string | null> {
    try {
      await this.#parts.api.call("chat.delete", ownMessage(id), nothing);
      return null;
    } catch (error) {
      const code = error instanceof SlackError ? error.code : null;
      if (code === "message_not_found" || code === "streaming_state_conflict") return code;
      throw error;
    }
  }

  async react(id: string, emoji: string): Promise<void> {
    const { channel, ts: timestamp } = ownMessage(id);
    const name = emojiName(emoji);
    if (name === null) throw new SlackError("rejected", "Slack's name of this emoji is not known.");
    try {
      await this.#parts.api.call("reactions.add", { channel, timestamp, name }, nothing);
    } catch (error) {
      if (!(error instanceof SlackError && error.code === "already_reacted")) throw error;
    }
  }

  /** An unfinished answer begins as a stream where there can be one. */
  async #begin(message: OutboundMessage): Promise<string> {
    const { idempotencyKey: key, channel, file } = message;
    this.#posts.set(key, { channel: channel.name, id: null });
    if (file !== undefined) return this.#parts.uploader.send(message, file);
    const stream = message.final ? null : await this.#parts.streams.start(message);
    if (stream !== null) this.#parts.budget.ended(key);
    if (stream === null && message.text === "") {
      this.#posts.delete(key);
      throw new SlackError("rejected", "Slack shows steps in streams only.");
    }
    return stream ?? (await this.#post(message));
  }

  async #post(message: OutboundMessage): Promise<string> {
    const { channel, threadTs } = placeOf(message.channel);
    const { idempotencyKey: key } = message;
    try {
      const args = {
        channel,
        ...(threadTs !== null && { thread_ts: threadTs }),
        metadata: keyMetadata(key),
        unfurl_links: false,
        unfurl_media: false,
      };
      const { ts, channel: where } = await this.#written(message, false, async (content) =>
        this.#parts.patient.call("chat.postMessage", { ...args, ...content }, posted),
      );
      return messageId(where, ts);
    } catch (error) {
      // Slack refused, so no post exists.
      if (error instanceof SlackError && error.code !== null) this.#posts.delete(key);
      throw error;
    }
  }

  /**
   * A post that timed out, or the message of a file, may still appear long after its retry: the surplus post is deleted. Best effort, in
   * memory.
   */
  #lookAgain(id: string, message: OutboundMessage): void {
    for (const afterMs of this.#parts.lookAgainMs) {
      const look = setTimeout(() => {
        this.#looks.delete(look);
        void this.#takeBackOthers(id, message);
      }, afterMs);
      look.unref();
      this.#looks.add(look);
    }
  }

  /** Does not throw. */
  async #takeBackOthers(id: string, message: OutboundMessage): Promise<void> {
    const { log } = this.#parts;
    try {
      const found = await this.#find(message, id);
      // If post `id` is not found (deleted, or out of range), none counts as surplus.
      if (!found.some((one) => one.id === id)) return;
      for (const other of found) {
        if (other.id === id || (other.by !== "key" && this.#mayBeAnothers(other.id, message))) continue;
        await this.remove(other.id);
        log.info({ platform: PLATFORM_NAME, channel: message.channel.name }, "late_post_taken_back");
      }
    } catch (error) {
      log.warn({ platform: PLATFORM_NAME, why: errorMessage(error) }, "late_post_not_looked_for");
    }
  }

  /**
   * Whether the found message may belong to another post: it is known as that post's, or the id of another post to the
   * same channel is not known yet, or is that of a file whose message Slack has not told.
   */
  #mayBeAnothers(id: string, { channel, idempotencyKey }: OutboundMessage): boolean {
    return [...this.#posts.entries()].some(
      ([key, post]) =>
        key !== idempotencyKey &&
        (post.id === id ||
          (post.channel === channel.name && (post.id === null || parseMessageId(post.id) === null))),
    );
  }

  async #find(message: OutboundMessage, known?: string): Promise<Found[]> {
    const text = this.#parts.content.textOf(message);
    const others = new Set([...this.#posts.entries()].map(([, post]) => post.id));
    return this.#earlier.find({ message, text, others, ...(known !== undefined && { known }) });
  }
}
