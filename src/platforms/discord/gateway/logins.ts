import { Routes } from "discord.js";
import type { z } from "zod";
import { Cache } from "../../../async/cache.ts";
import { pause } from "../../../async/clock.ts";
import { ownAddress } from "../../shared/own-address.ts";
import type { ShardHomes } from "../../shared/shard-homes.ts";
import { gatewayPayload } from "../inbound/payload.ts";
import { type DiscordApi, unavailable } from "../rest/api.ts";
import type { DiscordTiming } from "../timing.ts";

/** The gateway's address, and the limits of logins. */
type GatewayInformation = z.infer<typeof gatewayPayload>;

const GATEWAY_HOSTS = ["discord.gg"];

/** How long an answer of Discord is shared by shards that begin together, ms. */
const SHARED_MS = 5000;

/** Pause between two logins that share a limit, ms: the required five seconds, and a margin for network delays. */
const PAUSE_MS = 5500;

/** Keeps all connections together within Discord's limits of a bot's logins. */
export class Logins {
  /** A placeholder before the first request. */
  readonly none: GatewayInformation = {
    url: "",
    shards: 1,
    session_start_limit: { total: 0, remaining: 0, reset_after: 0, max_concurrency: 1 },
  };
  readonly #api: DiscordApi;
  readonly #isPaced: boolean;
  readonly #apiUrl: string | null;
  readonly #homes: Pick<ShardHomes, "takeLogin">;
  readonly #information = new Cache<GatewayInformation>(1);
  /** Number of concurrent logins. Shards whose numbers differ by a multiple of it share a limit. */
  #concurrency = 1;

  constructor(
    api: DiscordApi,
    homes: Pick<ShardHomes, "takeLogin">,
    { isLoginPaced }: Pick<DiscordTiming, "isLoginPaced">,
    /** Null: Discord's own. */
    apiUrl: string | null,
  ) {
    this.#apiUrl = apiUrl;
    this.#api = api;
    this.#homes = homes;
    this.#isPaced = isLoginPaced;
  }

  /** Call it before a login. @throws PlatformError, also if no more logins are allowed */
  async ask(): Promise<GatewayInformation> {
    const information = await this.information();
    if (!this.isGateway(information.url)) {
      this.#information.delete("");
      throw unavailable("Discord named an address of its gateway that is none of its own");
    }
    const { session_start_limit: limit } = information;
    if (limit.remaining < 1) {
      this.#information.delete("");
      throw unavailable("Discord allows no more logins today", undefined, limit.reset_after);
    }
    this.#concurrency = limit.max_concurrency;
    return information;
  }

  /** Whether a token may be sent to this gateway address. */
  isGateway(url: string): boolean {
    return ownAddress(url, { hosts: GATEWAY_HOSTS, apiUrl: this.#apiUrl }) !== null;
  }

  /** @throws PlatformError */
  async information(): Promise<GatewayInformation> {
    return await this.#information.get("", async () => ({
      value: await this.#api.get(Routes.gatewayBot(), gatewayPayload),
      forMs: SHARED_MS,
    }));
  }

  /** Waits until a shard may log in. @throws Error if that is unknown now, or the signal is aborted */
  async wait(shard: number, signal: AbortSignal): Promise<void> {
    if (!this.#isPaced) return;
    const bucket = shard % this.#concurrency;
    for (;;) {
      signal.throwIfAborted();
      const waitMs = await this.#homes.takeLogin(bucket, PAUSE_MS);
      if (waitMs === 0) return;
      await pause(waitMs, signal);
    }
  }
}
