import type { Logger } from "pino";
import { z } from "zod";
import { displayName } from "../../../text/text.ts";
import { fixedWaits, retry } from "../../../async/retry.ts";
import type { SlackApi } from "./api.ts";
import { SlackError } from "./slack-error.ts";
import { BoundedMap } from "../../../async/bounded-map.ts";
import { Cache, type Loaded } from "../../../async/cache.ts";
import {
  channelInfo,
  type Outside,
  type SlackPrivacy,
  userGroups,
  userInfo,
  whoAmI,
} from "../inbound/payload.ts";

export interface Bot {
  readonly userId: string;
  readonly botId: string;
  /** Its handle, without `@`. */
  readonly name: string;
  readonly teamId: string;
  readonly teamName: string;
  /** `https://acme.slack.com/`; "": not reported. */
  readonly teamUrl: string;
  readonly scopes: readonly string[];
}

export interface Person {
  readonly name: string;
  readonly isBot: boolean;
  /** `admin` and `owner` of the workspace: Slack has no other roles. */
  readonly roleNames: readonly string[];
  /** The words that follow the name of a person from another workspace, or of a guest; "": a member of the workspace. */
  readonly mark: string;
}

/** The words behind the name of somebody from outside. Pure. */
export function markOf(person: Outside & { readonly isOurs: boolean }): string {
  if (!person.isOurs || person.is_stranger === true) return "other workspace";
  return person.is_restricted === true || person.is_ultra_restricted === true ? "guest" : "";
}

interface NamedChannel {
  /** "" for direct messages. */
  readonly name: string;
  /** The person of direct messages. */
  readonly user: string | null;
  /** Undefined: not reported. */
  readonly isPrivate: boolean | undefined;
  /** People of other workspaces read it, too. */
  readonly isExternal: boolean;
}

/** Whether some members of the workspace cannot read a channel, by Slack's description of it. Pure. */
export function privacyOf(channel: SlackPrivacy): boolean | undefined {
  return channel.is_mpim === true ? true : (channel.is_private ?? undefined);
}

/** Whether people of other workspaces can read a channel, by Slack's description of it. Pure. */
export function isSharedOutside(channel: SlackPrivacy): boolean {
  return channel.is_ext_shared === true || channel.is_org_shared === true;
}

const HOUR_MS = 3_600_000;
/** A failed look-up is repeated after a minute. */
const MINUTE_MS = 60_000;
const MAX_PEOPLE = 5000;
const MAX_CHANNELS = 5000;

/** Names of people, channels and user groups. If a look-up fails, the id is the name. */
export class Names {
  readonly #api: SlackApi;
  readonly #log: Logger;
  readonly #bot = new Cache<Bot>(1);
  #known: Bot | null = null;
  readonly #people = new Cache<Person>(MAX_PEOPLE);
  readonly #channels = new Cache<NamedChannel>(MAX_CHANNELS);
  /** What the last event of a channel said of Slack Connect. */
  readonly #connected = new BoundedMap<boolean>(MAX_CHANNELS);
  readonly #groups = new Cache<ReadonlyMap<string, string>>(1);

  constructor(api: SlackApi, log: Logger) {
    this.#api = api;
    this.#log = log;
  }

  /** The bot's last known identity; null: unknown yet. */
  get known(): Bot | null {
    return this.#known;
  }

  /**
   * The bot; asked once, and again after `forgetBot`.
   * @throws SlackError
   */
  async bot(): Promise<Bot> {
    return this.#bot.get("", async () => {
      const who = await this.#api.call("auth.test", {}, whoAmI);
      if (who.bot_id === null || who.bot_id === undefined)
        throw new SlackError("unavailable", "auth.test names no bot", { code: "not_allowed_token_type" });
      this.#known = {
        userId: who.user_id,
        botId: who.bot_id,
        name: who.user ?? who.user_id,
        teamId: who.team_id,
        teamName: who.team ?? "",
        teamUrl: who.url ?? "",
        scopes: who.response_metadata?.scopes ?? [],
      };
      return { value: this.#known, forMs: Number.POSITIVE_INFINITY };
    });
  }

  /** A new token may belong to another bot. */
  forgetBot(): void {
    this.#bot.delete("");
  }

  async person(id: string): Promise<Person> {
    const unknown: Person = { name: id, isBot: false, roleNames: [], mark: "" };
    return this.#people.get(id, async () =>
      this.#orElse("users.info", unknown, async () => {
        const { user } = await this.#api.call("users.info", { user: id }, userInfo);
        const { profile } = user;
        const name = profile?.display_name || profile?.real_name || user.real_name || user.name || id;
        // A guest from a shared channel may be an admin of another workspace.
        const isOurs = user.team_id == null || user.team_id === (await this.bot()).teamId;
        const roleNames = [
          ...(isOurs && user.is_admin === true ? ["admin"] : []),
          ...(isOurs && user.is_owner === true ? ["owner"] : []),
        ];
        const mark = markOf({ ...user, isOurs });
        return { name: displayName(name), isBot: user.is_bot === true, roleNames, mark };
      }),
    );
  }

  /**
   * A channel's name decides who answers it, so there is no fallback name if Slack does not answer.
   * @throws SlackError `unavailable`
   */
  async channel(id: string): Promise<NamedChannel> {
    // A channel that Slack does not describe counts as shared with strangers, so that the least is shown there.
    const unknown: NamedChannel = { name: id, user: null, isPrivate: undefined, isExternal: true };
    return this.#channels.get(id, async () =>
      this.#orElse("conversations.info", unknown, async () => {
        const { channel } = await retry(
          async () => this.#api.call("conversations.info", { channel: id }, channelInfo),
          fixedWaits(AGAIN_MS),
        );
        return {
          name: channel.name ?? "",
          user: channel.user ?? null,
          isPrivate: privacyOf(channel),
          isExternal: isSharedOutside(channel) || this.#connected.get(id) === true,
        };
      }),
    );
  }

  /** For mentions in a text. */
  async channelName(id: string): Promise<string> {
    try {
      return (await this.channel(id)).name;
    } catch (error) {
      if (error instanceof SlackError) return id;
      throw error;
    }
  }

  /** The handle of a user group, without `@`. */
  async group(id: string): Promise<string> {
    const groups = await this.#groups.get("", async () =>
      this.#orElse("usergroups.list", new Map(), async () => {
        const { usergroups } = await this.#api.call("usergroups.list", {}, userGroups);
        return new Map(usergroups.map((group) => [group.id, group.handle ?? group.id]));
      }),
    );
    return groups.get(id) ?? id;
  }

  /** Caches a channel from an unrequested description. */
  learnChannel(id: string, channel: NamedChannel): void {
    this.#channels.set(id, { value: channel, forMs: HOUR_MS });
  }

  /** Call with what each event says: a channel that is shared, or no longer, is looked up again. */
  noteConnected(id: string, isConnected: boolean): void {
    const before = this.#connected.get(id);
    if (before === isConnected) return;
    this.#connected.set(id, isConnected);
    if (before !== undefined || isConnected) this.forgetChannel(id);
  }

  /** Call on a rename. */
  forgetChannel(id: string): void {
    this.#channels.delete(id);
  }

  async #orElse<Value>(method: string, fallback: Value, load: () => Promise<Value>): Promise<Loaded<Value>> {
    try {
      return { value: await load(), forMs: HOUR_MS };
    } catch (error) {
      if (!(error instanceof SlackError) || (method === "conversations.info" && error.retryable)) throw error;
      this.#log.debug({ platform: "slack", method, why: error.message }, "name_not_found");
      return { value: fallback, forMs: MINUTE_MS };
    }
  }
}

/** Delays before a name's look-up is retried, ms: Slack resends the event only after a minute. */
const AGAIN_MS = [200, 1000];

export const nothing = z.object({});
