import { pause } from "../../../async/clock.ts";
import { withDeadline } from "../../../async/deadline.ts";
import {
  DefaultWebSocketManagerOptions,
  type FetchingStrategyOptions,
  type IContextFetchingStrategy,
  type SessionInfo,
  type WebSocketShard,
  WebSocketShardEvents,
  WebSocketShardStatus,
} from "@discordjs/ws";
import { GatewayIntentBits } from "discord.js";
import type { Logger } from "pino";
import { errorMessage, OperatorError } from "../../../core/errors.ts";
import { proxyErrorIn, throughProxy } from "../../../network/use-proxies.ts";
import { originOf } from "../../../text/displayable.ts";
import type { Session } from "../../shared/connection.ts";
import { Unread } from "../../intake/unread.ts";
import { isWrongToken, PLATFORM_NAME, toPlatformError } from "../rest/api.ts";
import { createShard } from "./shard.ts";
import type { Logins } from "./logins.ts";
import { refusalOf, WRONG_TOKEN } from "../rest/api-errors.ts";
import type { DiscordTiming } from "../timing.ts";

const INTENTS =
  GatewayIntentBits.Guilds |
  GatewayIntentBits.GuildMessages |
  GatewayIntentBits.GuildMessageReactions |
  GatewayIntentBits.DirectMessages |
  GatewayIntentBits.DirectMessageReactions |
  GatewayIntentBits.MessageContent;

/** The library's timeout for a socket and for its HELLO before it tries another socket, ms. */
const SOCKET_MS = 10_000;
/** Decides the proxy of sockets, since the library does not report its address. */
const GATEWAY = new URL("wss://gateway.discord.gg");
const UNREADABLE = "what Discord said at the login could not be read";
/** The library's close code for a later resume: Discord ends a session only for 1000 and 1001. */
const KEEP_SESSION = 4200;

type Options = { -readonly [Key in keyof FetchingStrategyOptions]: FetchingStrategyOptions[Key] };

interface GatewayParts {
  readonly token: string;
  /** Its number and the total. */
  readonly shard: number;
  readonly shards: number;
  readonly logins: Logins;
  readonly timing: Pick<DiscordTiming, "readyMs" | "closeMs">;
  readonly log: Logger;
  /** A session to resume; null: none. If Discord has dropped it, a new one begins. */
  readonly resumable: Pick<SessionInfo, "sessionId" | "resumeURL" | "sequence"> | null;
  /** Called with each event and its number, in order of arrival. If it throws, the error is logged. */
  readonly dispatch: (t: string, d: unknown, sequence: number) => void;
  /** Called when the connection is lost: until READY or RESUMED, dispatched events may follow a gap. */
  readonly interrupted: () => void;
}

/**
 * One login to Discord's gateway, until its end. It uses the socket of discord.js without its objects, which Weir does
 * not need. The library reconnects by itself. An unrecoverable error ends the session; so does silence, as the library
 * has no timeout for RESUME.
 */
export class GatewaySession implements Session {
  readonly closed: Promise<Error | null>;
  readonly #parts: GatewayParts;
  readonly #unread: Unread;
  readonly #end: (why: Error | null) => void;
  readonly #opened = Promise.withResolvers<void>();
  #shard: WebSocketShard | null = null;
  /** State for a RESUME. */
  #resumable: SessionInfo | null = null;
  #watch: NodeJS.Timeout | null = null;
  /** Why the last socket failed at a proxy. */
  #trouble: Error | null = null;
  #closing: Promise<void> | null = null;
  /** Aborted at the end: the library's own signals only report a closed socket. */
  readonly #ended = new AbortController();
  /** No error has ended the session: it can be resumed. */
  #isSound = true;

  /**
   * Resolves when the gateway is ready.
   * @throws OperatorError if the operator has to change something
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
    const { resumable, shard: shardId, shards: shardCount } = parts;
    if (resumable !== null) this.#resumable = { ...resumable, shardId, shardCount };
    this.#unread = new Unread(PLATFORM_NAME, parts.log);
    const { promise, resolve } = Promise.withResolvers<Error | null>();
    this.closed = promise;
    void promise.then(() => parts.interrupted());
    this.#end = (why) => {
      if (why !== null) this.#isSound = false;
      resolve(why);
    };
  }

  /**
   * Ends the connection permanently: after a plain `destroy`, the library may reconnect. Discord keeps the session
   * resumable for a while, unless an error has ended it. May be called twice.
   */
  async close(): Promise<void> {
    this.#closing ??= this.#destroy();
    await this.#closing;
  }

  async #login(signal: AbortSignal): Promise<void> {
    const stop = (): void => this.#end(null);
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    this.#arm();
    this.#connect().catch((error: unknown) => this.#end(loginFailure(throughProxy(error, GATEWAY))));
    try {
      const failed = this.closed.then((why) => {
        throw why ?? new Error("the connection was closed while it was being opened");
      });
      await Promise.race([this.#opened.promise, failed]);
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  /** Resolves when the gateway is ready; otherwise never: `closed` has the reason. */
  async #connect(): Promise<void> {
    const { token, shard: shardId, shards, logins } = this.#parts;
    // A session is resumed at its own address, without a login.
    const information = this.#resumable === null ? await logins.ask() : null;
    if (this.#closing !== null) return;
    const shard = createShard({
      shard: shardId,
      strategy: this.#strategy({
        ...DefaultWebSocketManagerOptions,
        token,
        // oxlint-disable-next-line no-unsafe-enum-assignment -- a sum of bits is none of them
        intents: INTENTS,
        handshakeTimeout: SOCKET_MS,
        helloTimeout: SOCKET_MS,
        gatewayInformation: information ?? logins.none,
        shardCount: shards,
      }),
      passedOver: (t, error) => this.#passOver(t, error),
      failed: (error) => this.#end(error),
      wait: async (ms) => pause(ms, this.#ended.signal),
    });
    this.#shard = shard;
    this.#listen(shard);
    await shard.connect();
  }

  #strategy(options: Options): IContextFetchingStrategy {
    const { logins } = this.#parts;
    return {
      options,
      // A connection attempt after the end waits here forever.
      retrieveSessionInfo: async () => {
        if (this.#closing !== null) return new Promise(() => undefined);
        // The session cannot be resumed: the library next reads the address for a new one.
        if (this.#resumable === null && options.gatewayInformation === logins.none)
          options.gatewayInformation = await logins.ask();
        return this.#resumable;
      },
      updateSessionInfo: (_shard, info) => {
        this.#resumable = info === null ? null : this.#atOwnAddress(info, options.gatewayInformation.url);
      },
      waitForIdentify: async (shard, signal) => {
        // Many shards may wait for each other longer than one may take to become ready.
        this.#disarm();
        try {
          await logins.wait(shard, AbortSignal.any([signal, this.#ended.signal]));
        } catch (error) {
          if (!this.#ended.signal.aborted) {
            // The library regards it as closed already, and would report nothing more.
            if (!signal.aborted) this.#end(toPlatformError(error));
            throw error;
          }
        } finally {
          this.#arm();
        }
        // The library would log in over a closed socket, or open another.
        if (this.#ended.signal.aborted) await new Promise(() => undefined);
      },
    };
  }

  /** The token is sent to the resume address, so an address that is not Discord's own is replaced by the gateway's. */
  #atOwnAddress(info: SessionInfo, gateway: string): SessionInfo | null {
    const { logins, log } = this.#parts;
    if (logins.isGateway(info.resumeURL)) return info;
    log.warn({ platform: PLATFORM_NAME, address: originOf(info.resumeURL) }, "resume_address_not_used");
    return logins.isGateway(gateway) ? { ...info, resumeURL: gateway } : null;
  }

  #listen(shard: WebSocketShard): void {
    const { log, interrupted } = this.#parts;
    shard.on(WebSocketShardEvents.Dispatch, ({ data: { t, d, s } }) => this.#take(t, d, s));
    shard.on(WebSocketShardEvents.Closed, ({ code }) => {
      const refusal = refusalOf(code);
      if (refusal !== null) return this.#end(refusal);
      this.#arm();
      interrupted();
    });
    shard.on(WebSocketShardEvents.Error, ({ error }) => {
      const shown = throughProxy(error, GATEWAY);
      this.#trouble = proxyErrorIn(shown);
      log.debug({ platform: PLATFORM_NAME, why: errorMessage(shown) }, "gateway_trouble");
    });
  }

  #take(t: string, d: unknown, sequence: number): void {
    const isBeginning = t === "READY" || t === "RESUMED";
    if (isBeginning) this.#disarm();
    // A replay may be long, and precedes RESUMED: its progress is no silence.
    else this.#watch?.refresh();
    try {
      this.#parts.dispatch(t, d, sequence);
    } catch (error) {
      // A malformed event must not end the connection, except READY, which identifies the bot.
      this.#unread.tell(t, error);
      if (t === "READY") this.#end(new Error(UNREADABLE));
      return;
    }
    if (isBeginning) this.#opened.resolve();
  }

  /** Logs a frame that was withheld from the library. */
  #passOver(t: string, error: unknown): void {
    this.#unread.tell(t, error);
    if (t === "READY" && this.#shard?.status !== WebSocketShardStatus.Ready) this.#end(new Error(UNREADABLE));
  }

  /** Runs from a connection's loss, over all retries of the client. */
  #arm(): void {
    if (this.#watch !== null || this.#closing !== null) return;
    const { readyMs } = this.#parts.timing;
    this.#watch = setTimeout(() => {
      const trouble = this.#trouble === null ? "" : `: ${this.#trouble.message}`;
      this.#end(new Error(`Discord's gateway was not ready within ${readyMs} ms${trouble}`));
    }, readyMs);
  }

  #disarm(): void {
    if (this.#watch !== null) clearTimeout(this.#watch);
    this.#watch = null;
  }

  async #destroy(): Promise<void> {
    this.#disarm();
    this.#ended.abort();
    const shard = this.#shard;
    shard?.removeAllListeners();
    shard?.on(WebSocketShardEvents.Error, () => undefined);
    const options = this.#isSound ? { code: KEEP_SESSION } : {};
    const destroyed = shard?.destroy(options).catch(() => undefined) ?? Promise.resolve();
    await withDeadline(destroyed, this.#parts.timing.closeMs);
    this.#end(null);
  }
}

/** An earlier event has reported the close code of a refusal. */
function loginFailure(error: unknown): Error {
  if (isWrongToken(error)) return new OperatorError(WRONG_TOKEN);
  return toPlatformError(error);
}
