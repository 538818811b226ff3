import { setTimeout as delay } from "node:timers/promises";
import {
  Client,
  type ClientOptions,
  DiscordjsError,
  DiscordjsErrorCodes,
  Events,
  GatewayIntentBits,
  Options,
  SimpleShardingStrategy,
} from "discord.js";
import type { Logger } from "pino";
import { z } from "zod";
import { errorMessage, OperatorError } from "../../core/errors.ts";
import type { Session } from "../chat/connection.ts";
import { PLATFORM_NAME, toPlatformError } from "./api.ts";
import { tellUnread } from "./payload.ts";
import { refusalOf, WRONG_TOKEN } from "./refusals.ts";
import type { DiscordTiming } from "./timing.ts";

const INTENTS = [
  GatewayIntentBits.Guilds,
  GatewayIntentBits.GuildMessages,
  GatewayIntentBits.GuildMessageReactions,
  GatewayIntentBits.DirectMessages,
  GatewayIntentBits.DirectMessageReactions,
  GatewayIntentBits.MessageContent,
];

export interface GatewayParts {
  readonly token: string;
  /** Null: Discord's own. */
  readonly apiUrl: string | null;
  readonly timing: Pick<DiscordTiming, "callMs" | "readyMs" | "closeMs" | "isLoginPaced">;
  readonly log: Logger;
  /** Each event as it came, in order. May throw: then it is logged. */
  readonly dispatch: (t: string, d: unknown) => void;
  /** The connection is lost; what is dispatched from now on may follow a gap, until READY or RESUMED. */
  readonly interrupted: () => void;
}

type Manager = Parameters<NonNullable<NonNullable<ClientOptions["ws"]>["buildStrategy"]>>[0];

const packet = z.object({ t: z.string(), d: z.unknown() });

/**
 * One discord.js client, from its login to its end. It reconnects by itself; what it cannot mend ends the session, and so
 * does silence: an unanswered RESUME has no timeout of the client's.
 */
export class GatewaySession implements Session {
  readonly closed: Promise<Error | null>;
  readonly #parts: GatewayParts;
  readonly #client: Client;
  readonly #end: (why: Error | null) => void;
  readonly #opened = Promise.withResolvers<void>();
  #manager: Manager | null = null;
  #watch: NodeJS.Timeout | null = null;
  #closing: Promise<void> | null = null;

  /**
   * Resolves when the gateway is ready.
   * @throws OperatorError where the operator has to change something
   */
  static async open(parts: GatewayParts, signal: AbortSignal): Promise<GatewaySession> {
    const session = new GatewaySession(parts);
    try {
      await session.#login(signal);
      return session;
    } catch (error) {
      await session.close();
      throw error;
    }
  }

  private constructor(parts: GatewayParts) {
    this.#parts = parts;
    const { promise, resolve } = Promise.withResolvers<Error | null>();
    this.closed = promise;
    void promise.then(() => parts.interrupted());
    this.#end = resolve;
    this.#client = new Client(clientOptions(parts, (manager) => (this.#manager = manager)));
    this.#listen();
  }

  /** Ends it for good: an ordinary `destroy` may be followed by another connection. May be called twice. */
  async close(): Promise<void> {
    this.#closing ??= this.#destroy();
    await this.#closing;
  }

  async #login(signal: AbortSignal): Promise<void> {
    const stop = (): void => this.#end(null);
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    this.#arm();
    this.#client.login(this.#parts.token).catch((error: unknown) => this.#end(loginFailure(error)));
    try {
      const failed = this.closed.then((why) => {
        throw why ?? new Error("the connection was closed while it was being opened");
      });
      await Promise.race([this.#opened.promise, failed]);
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  #listen(): void {
    const client = this.#client;
    const { log, interrupted } = this.#parts;
    client.on(Events.Raw, (data: unknown) => this.#take(data));
    client.on(Events.ShardReconnecting, () => {
      this.#arm();
      interrupted();
    });
    client.on(Events.ShardDisconnect, ({ code }) =>
      this.#end(refusalOf(code) ?? new Error(`Discord closed the connection (${code})`)),
    );
    client.on(Events.Invalidated, () => this.#end(new Error("Discord ended the session")));
    const tell = (error: unknown): void =>
      log.debug({ platform: PLATFORM_NAME, why: errorMessage(error) }, "gateway_trouble");
    client.on(Events.ShardError, tell);
    client.on(Events.Error, tell);
  }

  #take(data: unknown): void {
    const read = packet.safeParse(data);
    if (!read.success) return;
    const { t, d } = read.data;
    if (t === "READY" || t === "RESUMED") this.#disarm();
    try {
      this.#parts.dispatch(t, d);
    } catch (error) {
      // What one event lacks must not end the connection.
      tellUnread(this.#parts.log, t, error);
    }
    if (t === "READY") this.#opened.resolve();
  }

  /** From the loss of a connection on, however often the client tries. */
  #arm(): void {
    if (this.#watch !== null || this.#closing !== null) return;
    const { readyMs } = this.#parts.timing;
    this.#watch = setTimeout(
      () => this.#end(new Error(`Discord's gateway was not ready within ${readyMs} ms`)),
      readyMs,
    );
  }

  #disarm(): void {
    if (this.#watch !== null) clearTimeout(this.#watch);
    this.#watch = null;
  }

  async #destroy(): Promise<void> {
    this.#disarm();
    this.#client.removeAllListeners();
    this.#client.on(Events.Error, () => undefined);
    // Whoever wants to connect from now on waits for this first, and for ever.
    if (this.#manager !== null)
      this.#manager.options.retrieveSessionInfo = async () => new Promise(() => undefined);
    const over = new AbortController();
    const late = delay(this.#parts.timing.closeMs, undefined, { signal: over.signal });
    const destroyed = this.#client.destroy();
    await Promise.race([destroyed, late].map(async (one) => one.catch(() => undefined)));
    over.abort();
    this.#end(null);
  }
}

/** Caches are small: what Weir wants to know it keeps itself, from the events as they came. */
function clientOptions(
  { apiUrl, timing }: GatewayParts,
  onManager: (manager: Manager) => void,
): ClientOptions {
  return {
    intents: INTENTS,
    makeCache: Options.cacheWithLimits({
      ...Options.DefaultMakeCacheSettings,
      AutoModerationRuleManager: 0,
      BaseGuildEmojiManager: 0,
      DMMessageManager: 0,
      GuildBanManager: 0,
      GuildEmojiManager: 0,
      GuildInviteManager: 0,
      GuildMemberManager: { maxSize: 0, keepOverLimit: ({ id, client }) => id === client.user.id },
      GuildMessageManager: 0,
      GuildScheduledEventManager: 0,
      GuildStickerManager: 0,
      MessageManager: 0,
      PresenceManager: 0,
      ReactionManager: 0,
      ReactionUserManager: 0,
      StageInstanceManager: 0,
      ThreadManager: 0,
      ThreadMemberManager: 0,
      UserManager: { maxSize: 0, keepOverLimit: ({ id, client }) => id === client.user?.id },
      VoiceStateManager: 0,
    }),
    rest: { retries: 0, timeout: timing.callMs, ...(apiUrl !== null && { api: apiUrl }) },
    ws: {
      buildStrategy: (manager) => {
        onManager(manager);
        return new SimpleShardingStrategy(manager);
      },
      ...(!timing.isLoginPaced && {
        buildIdentifyThrottler: async () =>
          Promise.resolve({ waitForIdentify: async () => Promise.resolve() }),
      }),
    },
  };
}

/** The close code of a refusal is told by an event that comes first. */
function loginFailure(error: unknown): Error {
  if (error instanceof DiscordjsError && error.code === DiscordjsErrorCodes.TokenInvalid)
    return new OperatorError(WRONG_TOKEN);
  return toPlatformError(error);
}
