import { Routes } from "discord.js";
import { z } from "zod";
import { Cache } from "../../../async/cache.ts";
import { type DiscordApi, PLATFORM_NAME } from "./api.ts";
import { PlatformError } from "../../platform.ts";
import { emojiOf } from "../../shared/emoji.ts";
import { emojiPayload } from "../inbound/payload.ts";

/** A custom emoji in Discord's form: `name:id`, or as of a text, `<a:name:id>`. */
const WITH_ID = /^(?:<a?:)?(\w{2,32}:\d{15,21})>?$/;
/** A name, and no emoji: these have other characters. */
const WORDS = /^[\x20-\x7E]*$/;
const KEPT_MS = 600_000;
const NONE: ReadonlyMap<string, string> = new Map();
const emojis = z.array(emojiPayload.extend({ animated: z.boolean().optional() }));

/** Custom emoji of servers, by name. */
export class Emojis {
  readonly #api: DiscordApi;
  /** By server: its emoji in the form of a text, `<:name:id>`, by name. */
  readonly #known = new Cache<ReadonlyMap<string, string>>(200);

  constructor(api: DiscordApi) {
    this.#api = api;
  }

  /**
   * The emoji's name in Discord's paths. A character that is unknown may be a newer emoji: Discord decides.
   * @param emoji a Unicode emoji, or the name of one, or of a custom emoji
   * @param guildOf the server of the channel, asked for a name only; "" or undefined: none
   * @throws PlatformError if the name is unknown, so that nothing is sent
   */
  async sign(emoji: string, guildOf: () => Promise<string | undefined>): Promise<string> {
    const given = WITH_ID.exec(emoji)?.[1];
    if (given !== undefined) return given;
    const name = emoji.replaceAll(/^:|:$/g, "");
    const own = /^\w{2,32}$/.test(name) ? (await this.marks((await guildOf()) ?? "")).get(name) : undefined;
    const sign = own?.replaceAll(/^<a?:|>$/g, "") ?? emojiOf(name);
    if (sign !== null) return sign;
    if (WORDS.test(name))
      throw new PlatformError(PLATFORM_NAME, "rejected", "Discord has no emoji of this name.");
    return emoji;
  }

  /**
   * A server's own emoji by name, in the form of a text.
   * @param guildId "": none
   * @throws PlatformError
   */
  async marks(guildId: string): Promise<ReadonlyMap<string, string>> {
    if (guildId === "") return NONE;
    return this.#known.get(guildId, async () => {
      const all = await this.#api.get(Routes.guildEmojis(guildId), emojis);
      const marks = all.flatMap(({ id, name, animated }) =>
        id == null || name == null
          ? []
          : [[name, `<${animated === true ? "a" : ""}:${name}:${id}>`] as const],
      );
      return { value: new Map(marks), forMs: KEPT_MS };
    });
  }
}
