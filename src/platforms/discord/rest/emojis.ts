import { Routes } from "discord.js";
import { z } from "zod";
import { BoundedMap } from "../../../async/bounded-map.ts";
import type { DiscordApi } from "./api.ts";
import { emojiPayload } from "../inbound/payload.ts";

interface Known {
  readonly until: number;
  readonly ids: ReadonlyMap<string, string>;
}

const KEPT_MS = 600_000;
const emojis = z.array(emojiPayload);

/** Custom emoji of servers, by name. */
export class Emojis {
  readonly #api: DiscordApi;
  readonly #known = new BoundedMap<Known>(200);

  constructor(api: DiscordApi) {
    this.#api = api;
  }

  /**
   * The emoji's name in Discord's paths.
   * @param emoji a Unicode emoji, or the name of a custom emoji
   * @param guildOf the server of the channel, asked for a name only; "" or undefined: none
   * @throws PlatformError
   */
  async sign(emoji: string, guildOf: () => Promise<string | undefined>): Promise<string> {
    const name = emoji.replaceAll(/^:|:$/g, "");
    if (!/^\w{2,32}$/.test(name)) return emoji;
    const guildId = (await guildOf()) ?? "";
    if (guildId === "") return emoji;
    const id = (await this.#of(guildId)).get(name);
    return id === undefined ? emoji : `${name}:${id}`;
  }

  async #of(guildId: string): Promise<ReadonlyMap<string, string>> {
    const known = this.#known.get(guildId);
    if (known !== undefined && performance.now() < known.until) return known.ids;
    const all = await this.#api.get(Routes.guildEmojis(guildId), emojis);
    const ids = new Map(
      all.flatMap(({ id, name }) => (id == null || name == null ? [] : [[name, id] as const])),
    );
    this.#known.set(guildId, { until: performance.now() + KEPT_MS, ids });
    return ids;
  }
}
