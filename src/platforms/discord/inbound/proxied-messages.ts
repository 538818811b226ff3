import { MessageType } from "discord.js";
import { BoundedMap } from "../../../async/bounded-map.ts";
import { withDeadline } from "../../../async/deadline.ts";
import type { MessagePayload } from "./payload.ts";

/** How long a message of a person may wait for its repetition, and a repetition for the deletion, ms. */
const WITHIN_MS = 10_000;
/** Longest signs around a person's words, in UTF-16 units: by them a proxy knows for whom it speaks. */
const MAX_TAGS = 100;
const DEFAULT: number = MessageType.Default;
const MAX_CHANNELS = 1000;
/** Messages of a channel among which the repeated one is looked for. */
const MAX_RECENT = 20;

interface Recent {
  readonly message: MessagePayload;
  readonly saidAt: number;
  /** Resolves with its deletion. */
  readonly deletion: PromiseWithResolvers<void>;
  isDeleted: boolean;
  isRepeated: boolean;
}

/**
 * Finds the people for whom a proxy like PluralKit speaks: it repeats a person's message by a webhook of its application, and deletes the
 * original within seconds. Nothing else says whose words these are. Words of others are only in memory, and only for those seconds.
 */
export class ProxiedMessages {
  readonly #now: () => Date;
  readonly #channels = new BoundedMap<readonly Recent[]>(MAX_CHANNELS);

  constructor(now: () => Date) {
    this.#now = now;
  }

  /** Call for each message. */
  said(message: MessagePayload): void {
    if (message.webhook_id !== undefined || message.author.bot === true) return;
    const saidAt = this.#now().getTime();
    const deletion = Promise.withResolvers<void>();
    const one = { message, saidAt, deletion, isDeleted: false, isRepeated: false };
    this.#channels.set(message.channel_id, [...this.#recent(message.channel_id).slice(1 - MAX_RECENT), one]);
    setTimeout(() => this.#recent(message.channel_id), WITHIN_MS).unref();
  }

  /** Call for each deletion, before it is handed on. */
  deleted(channel: string, ids: readonly string[]): void {
    for (const one of this.#recent(channel)) {
      if (!ids.includes(one.message.id)) continue;
      one.isDeleted = true;
      one.deletion.resolve();
    }
  }

  /**
   * The deleted message of a person that this one repeats; null: there is none. If the message repeats one that is still there, it waits
   * for the deletion.
   */
  async originalOf(message: MessagePayload): Promise<MessagePayload | null> {
    if (!isOfProxy(message)) return null;
    const found = this.#recent(message.channel_id).findLast(
      (one) => !one.isRepeated && repeats(one.message, message),
    );
    if (found === undefined) return null;
    found.isRepeated = true;
    await withDeadline(found.deletion.promise, WITHIN_MS);
    return found.isDeleted ? found.message : null;
  }

  /** Forgets older ones. */
  #recent(channel: string): readonly Recent[] {
    const from = this.#now().getTime() - WITHIN_MS;
    const left = (this.#channels.get(channel) ?? []).filter(({ saidAt }) => saidAt > from);
    if (left.length === 0) this.#channels.delete(channel);
    else this.#channels.set(channel, left);
    return left;
  }
}

/** A webhook that a person has made could speak for anybody: only those of other applications count. */
function isOfProxy({
  type,
  webhook_id: webhook,
  application_id: application,
  interaction_metadata: asked,
}: MessagePayload): boolean {
  const isOfApplication = webhook !== undefined && application != null && application !== webhook;
  return isOfApplication && type === DEFAULT && asked == null;
}

function repeats(original: MessagePayload, copy: MessagePayload): boolean {
  const [said, again] = [original.content.trim(), copy.content.trim()];
  const namesOf = ({ attachments }: MessagePayload): string =>
    attachments.map(({ filename }) => filename).join("\n");
  return (
    said.includes(again) &&
    said.length - again.length <= MAX_TAGS &&
    namesOf(original) === namesOf(copy) &&
    (again !== "" || copy.attachments.length > 0)
  );
}
