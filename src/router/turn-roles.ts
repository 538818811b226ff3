import { BoundedMap } from "../async/bounded-map.ts";
import type { ChannelRegistry } from "../channel/registry.ts";
import type { Meant } from "../core/entry.ts";
import { type AgentId, type ChannelId, formatAddress, personKey, type Seq } from "../core/ids.ts";
import type { InboundMessage } from "../core/message.ts";
import type { Binding } from "./bindings.ts";
import { channelKey, type ChannelIds } from "./channel-ids.ts";
import type { Notices } from "./notices.ts";
import type { TurnRateLimit } from "./turn-rate-limit.ts";

/** `asks`: causes a turn; `joins`: is answered by a turn that comes anyway; `listens`: is not answered. */
export type TurnRole = "asks" | "joins" | "listens";

export interface TurnRolesParts {
  readonly registry: Pick<ChannelRegistry, "loaded">;
  readonly limits: TurnRateLimit;
  readonly notices: Notices;
}

/** Limit of channels in each of the maps below. */
const KNOWN_CHANNELS = 10_000;

/**
 * Decides which messages cause turns: a person who asks too often gets one notice, and their messages are only read. In
 * memory: lost at a restart.
 */
export class TurnRoles {
  readonly #parts: TurnRolesParts;
  readonly #channelIds: Pick<ChannelIds, "known">;
  /** By channel and agent: the last message that counted as the cause of a turn. */
  readonly #caused = new BoundedMap<Seq>(KNOWN_CHANNELS);
  /** By channel and agent: the agent that the last message to answer means, if several answer. */
  readonly #meant = new BoundedMap<AgentId | null>(KNOWN_CHANNELS);
  /** By channel and agent: being loaded for a message that waits for an answer. */
  readonly #loadedFor = new Set<string>();

  constructor(parts: TurnRolesParts, channelIds: Pick<ChannelIds, "known">) {
    this.#parts = parts;
    this.#channelIds = channelIds;
  }

  /**
   * @param isAsked it may cause a turn; otherwise it is only read
   * @param agent the one of several that it addresses; null: the channel's own
   * @param tooOften the notice for a person who asks too often
   */
  of(
    binding: Binding,
    message: InboundMessage,
    isAsked: boolean,
    agent: AgentId | null,
    tooOften: () => string,
  ): TurnRole {
    const { limits, registry } = this.#parts;
    const { author, channel } = message;
    if (message.isBackground === true) return "listens";
    if (!limits.heard(formatAddress(channel), author.isBot, isAsked) || !isAsked) return "listens";
    const key = channelKey(binding, channel);
    const known = this.#channelIds.known(key);
    const loaded = known === undefined ? undefined : registry.loaded(known);
    // Messages that wait while a turn runs are answered together. If none waits, a message causes a turn.
    const isAwaiting = loaded === undefined ? this.#loadedFor.has(key) : loaded.status.isAwaiting;
    // A turn belongs to one agent: addressing several agents causes several turns.
    const isSame = (this.#meant.get(key) ?? null) === agent;
    if (isAwaiting && isSame && limits.mayJoin(authorKey(message), binding.rateLimit)) return "joins";
    return this.isWithinRate(binding, message, tooOften) ? "asks" : "listens";
  }

  /** Counts a person's questions and commands. Sends `words` once to a person who asks too often. */
  isWithinRate({ rateLimit }: Binding, message: InboundMessage, words: () => string): boolean {
    const { limits, notices } = this.#parts;
    const asked = limits.ask(authorKey(message), rateLimit);
    if (asked === "first_over") notices.answer(message.channel, message, words(), null);
    return asked === "within";
  }

  /** If the turn that a message was to join began during its append, the message has caused the next turn. */
  appended(
    binding: Binding,
    message: InboundMessage,
    { id, seq }: { readonly id: ChannelId; readonly seq: Seq },
    role: TurnRole,
  ): void {
    const { limits, registry } = this.#parts;
    if (role === "listens" || binding.rateLimit === 0) return;
    const key = channelKey(binding, message.channel);
    const caused = this.#caused.get(key) ?? 0;
    const takenTo = registry.loaded(id)?.status.takenTo ?? 0;
    const isLate = role === "joins" && caused <= takenTo && seq > takenTo;
    if (isLate) limits.charge(authorKey(message));
    if (isLate || role === "asks") this.#caused.set(key, Math.max(caused, seq));
  }

  /**
   * A message in the log waits for an answer. Call it before its channel is woken.
   * @returns a function to call once the channel is loaded and itself counts waiting messages
   */
  awaits(binding: Binding, { channel, agent }: InboundMessage & Meant): () => void {
    const key = channelKey(binding, channel);
    this.#loadedFor.add(key);
    if (binding.also.length > 0) this.#meant.set(key, agent ?? null);
    return () => void this.#loadedFor.delete(key);
  }
}

function authorKey({ channel, author }: Pick<InboundMessage, "channel" | "author">): string {
  return personKey(channel.platform, author.id);
}
