import { Routes } from "discord.js";
import { BoundedMap } from "../../../async/bounded-map.ts";
import { Cache } from "../../../async/cache.ts";
import { displayName } from "../../../text/text.ts";
import { type KnownNames, KnownPeople } from "../../shared/known-people.ts";
import type { DiscordApi } from "./api.ts";
import {
  memberPayload,
  type MemberPayload,
  messagesPayload,
  type UserPayload,
  userPayload,
} from "../inbound/payload.ts";

const MAX_CHANNELS = 2000;
/** Newest messages of a channel that are read to learn who speaks there. */
const READ = 50;
/** How long such a read is valid, ms. */
const READ_MS = 60_000;
const MAX_MEMBERS = 10_000;

/** Names of people, for mentions as `@name` in answers, and for names and roles in a history. */
export class People {
  readonly #api: DiscordApi;
  readonly #known = new KnownPeople();
  /** By guild and user; null: no longer a member. */
  readonly #members = new BoundedMap<MemberPayload | null>(MAX_MEMBERS);
  readonly #users = new BoundedMap<string>(MAX_MEMBERS);
  /** Channels whose newest messages were read. */
  readonly #read = new Cache<true>(MAX_CHANNELS);

  constructor(api: DiscordApi) {
    this.#api = api;
  }

  /** Call for each author and each mentioned person. */
  met(channelId: string, user: UserPayload, name: string): void {
    this.#known.met(channelId, user.id, name, user.username);
    this.#users.set(user.id, name);
  }

  /**
   * Learns who speaks in a channel that the gateway does not report, from its newest messages; once a minute.
   * @throws PlatformError
   */
  async read(channelId: string, guildId: string): Promise<void> {
    await this.#read.get(channelId, async () => {
      const query = { limit: String(READ) };
      const newest = await this.#api.get(Routes.channelMessages(channelId), messagesPayload, query);
      const users = newest.flatMap(({ author, mentions, webhook_id: webhookId }) =>
        webhookId === undefined ? [author, ...mentions] : mentions,
      );
      const people = new Map(users.filter(({ bot }) => bot !== true).map((user) => [user.id, user]));
      for (const user of people.values())
        this.met(channelId, user, nameOf(user, await this.findMember(guildId, user.id)));
      return { value: true, forMs: READ_MS };
    });
  }

  namesIn(channelId: string): KnownNames {
    return this.#known.of(channelId);
  }

  setMember(guildId: string, userId: string, member: MemberPayload): void {
    this.#members.set(`${guildId}/${userId}`, member);
  }

  member(guildId: string, userId: string): MemberPayload | undefined {
    return this.#members.get(`${guildId}/${userId}`) ?? undefined;
  }

  /** Like {@link member}; fetches an unknown member. @throws a retryable PlatformError */
  async findMember(guildId: string, userId: string): Promise<MemberPayload | undefined> {
    const key = `${guildId}/${userId}`;
    if (this.#members.get(key) === undefined) {
      const member = await this.#api.find(Routes.guildMember(guildId, userId), memberPayload);
      this.#members.set(key, member);
    }
    return this.member(guildId, userId);
  }

  /** A person's last known name. */
  nameOf(userId: string): string | undefined {
    return this.#users.get(userId);
  }

  /** Like {@link nameOf}; fetches an unknown name. @throws a retryable PlatformError */
  async findName(userId: string): Promise<string> {
    const known = this.#users.get(userId);
    if (known !== undefined) return known;
    const user = await this.#api.find(Routes.user(userId), userPayload);
    const name = user === null ? userId : nameOf(user, undefined);
    this.#users.set(userId, name);
    return name;
  }
}

/** A person's name in a server; elsewhere the account's name. Pure. */
export function nameOf(
  user: UserPayload,
  member: { readonly nick?: string | null | undefined } | undefined,
): string {
  return displayName(member?.nick || user.global_name || user.username);
}
