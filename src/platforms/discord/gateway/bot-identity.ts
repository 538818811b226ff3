import { Routes } from "discord.js";
import { z } from "zod";
import type { DiscordApi } from "../rest/api.ts";
import { type UserPayload, userPayload } from "../inbound/payload.ts";

export interface Bot {
  readonly user: UserPayload;
  readonly applicationId: string;
}

const application = z.object({ id: z.string() });

/** The bot's identity, from the gateway; fetched if needed earlier. */
export class BotIdentity {
  readonly #api: DiscordApi;
  #bot: Bot | null = null;

  constructor(api: DiscordApi) {
    this.#api = api;
  }

  /** Null: unknown yet. */
  get known(): Bot | null {
    return this.#bot;
  }

  set(bot: Bot): void {
    this.#bot = bot;
  }

  /** @throws PlatformError */
  async bot(): Promise<Bot> {
    if (this.#bot !== null) return this.#bot;
    const [user, { id }] = await Promise.all([
      this.#api.get(Routes.user(), userPayload),
      this.#api.get(Routes.currentApplication(), application),
    ]);
    this.#bot ??= { user, applicationId: id };
    return this.#bot;
  }
}
