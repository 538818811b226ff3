import { type Backoff, backoffMs } from "../../../async/backoff.ts";
import { pause } from "../../../async/clock.ts";
import { retry } from "../../../async/retry.ts";
import { KeyedQueue } from "../../../async/keyed-queue.ts";
import { z } from "zod";
import { errorMessage, UnstorableError } from "../../../core/errors.ts";
import {
  COMMAND_FAILED,
  type ConnectionState,
  notConnectedYet,
  PlatformError,
  type PlatformInbox,
} from "../../platform.ts";
import { type LocalEvent, toAnswer, toCommand, toInbound } from "../messages.ts";
import { type LoopbackClient, PLATFORM_NAME } from "./client.ts";
import { EventsUnderWay } from "./events-under-way.ts";
import { type DurablePost, eventPage, type LoopbackEvent } from "./protocol.ts";
import { weirCommand } from "../../../files/installation.ts";

/** The part of a logger that the feed needs. */
export interface FeedLog {
  info(fields: object, text: string): void;
  warn(fields: object, text: string): void;
  error(fields: object, text: string): void;
}

interface EventFeedOptions {
  readonly client: LoopbackClient;
  readonly log: FeedLog;
  /** For the log. */
  readonly url: string;
  readonly pollMs: number;
  readonly timeoutMs: number;
  readonly backOff: Backoff;
}

/**
 * Brings the service's events to the inbox, in order within each channel. It fetches on while channels are at work: the
 * service keeps the rest of a channel that has its share under way, and delivers the events of others.
 *
 * An event is acknowledged once it and all before it of its channel are durable. After a restart the service delivers
 * again what was not acknowledged, which is harmless, since inbound is idempotent by message id.
 */
export class EventFeed {
  readonly #options: EventFeedOptions;
  readonly #stopped = new AbortController();
  readonly #channels = new KeyedQueue();
  readonly #commands = new Set<Promise<void>>();
  #loop: Promise<void> = Promise.resolve();
  /** Of the service that answered last; null: no service has answered. */
  #underWay: EventsUnderWay | null = null;
  #acknowledging: Promise<void> = Promise.resolve();
  #isAcknowledging = false;
  #state: ConnectionState = notConnectedYet();

  constructor(options: EventFeedOptions) {
    this.#options = options;
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /** Resolves after the first attempt to reach the service. */
  async start(inbox: PlatformInbox): Promise<void> {
    const first = Promise.withResolvers<void>();
    this.#loop = this.#run(inbox, first.resolve);
    await Promise.race([first.promise, this.#loop]);
  }

  /** Fetches no more. Resolves once no event is on its way into the inbox; commands may still be at work. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#loop;
    await this.#channels.settled();
    await this.#acknowledging;
  }

  /** Resolves once every command was answered. */
  async idle(): Promise<void> {
    await Promise.all(this.#commands);
  }

  async #run(inbox: PlatformInbox, onAttempt: () => void): Promise<void> {
    const { signal } = this.#stopped;
    let failures = 0;
    while (!signal.aborted) {
      // The first request only finds out whether the service answers.
      const events = await this.#poll(this.#state.kind === "connected" ? this.#options.pollMs : 0);
      onAttempt();
      failures = events === null ? failures + 1 : 0;
      if (events === null) await this.#backOff(failures);
      for (const event of events ?? []) this.#take(event, inbox);
      await this.#underWay?.untilRoom(signal);
    }
  }

  /** @returns null: the service did not answer */
  async #poll(waitMs: number): Promise<readonly LoopbackEvent[] | null> {
    const { client, timeoutMs, url, log } = this.#options;
    try {
      const page = await client.call(
        {
          method: "POST",
          path: "/events",
          body: { ...this.#underWay?.request(), waitMs },
          timeoutMs: waitMs + timeoutMs,
          signal: this.#stopped.signal,
        },
        eventPage,
      );
      if (this.#state.kind === "waiting") log.info({}, `The loopback service at ${url} answers again.`);
      if (this.#state.kind !== "connected") this.#become("connected", null);
      // A service that was started again numbers its events from one.
      if (this.#underWay?.server !== page.server) this.#underWay = new EventsUnderWay(page.server);
      return page.events;
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error;
      if (this.#state.kind !== "waiting" && !this.#stopped.signal.aborted) {
        const what = `Is \`${weirCommand("loopback")}\` running there? Weir keeps trying. The address is platforms.loopback.url in config.toml.`;
        log.warn({ why: error.message }, `The loopback service at ${url} can't be reached. ${what}`);
        this.#become("waiting", error.message);
      }
      return null;
    }
  }

  #become(kind: ConnectionState["kind"], why: string | null): void {
    this.#state = { kind, since: new Date(), why, isOperators: false };
  }

  /** Hands an event over after those of its channel. */
  #take(event: LoopbackEvent, inbox: PlatformInbox): void {
    const underWay = this.#underWay;
    underWay?.take(event);
    void this.#channels.add(event.channel, async () => {
      const isDurable = await this.#handOver(event, inbox);
      underWay?.end(event, isDurable);
      if (!this.#isAcknowledging) this.#acknowledging = this.#acknowledge();
    });
  }

  /** @returns false if the intake was stopped before the event was durable. Must not throw */
  async #handOver(event: LoopbackEvent, inbox: PlatformInbox): Promise<boolean> {
    if (this.#stopped.signal.aborted) return false;
    if (event.type !== "command") return await this.#receive(toInbound(PLATFORM_NAME, event), inbox);
    // Later events do not wait for a command.
    const work = this.#runCommand(event, inbox).finally(() => this.#commands.delete(work));
    this.#commands.add(work);
    return true;
  }

  /** Sends one request at a time; later events go with the next one. Must not throw. */
  async #acknowledge(): Promise<void> {
    const { signal } = this.#stopped;
    this.#isAcknowledging = true;
    for (let failures = 0; !signal.aborted;) {
      const underWay = this.#underWay;
      if (underWay === null || !underWay.isAcknowledgementDue) break;
      if (await this.#sendDurable(underWay)) failures = 0;
      else await this.#backOff((failures += 1));
    }
    // Without a wait since the last check, so that no later event is missed.
    this.#isAcknowledging = false;
  }

  /** @returns false if the service did not answer, which the poll reports */
  async #sendDurable(underWay: EventsUnderWay): Promise<boolean> {
    const { client, timeoutMs } = this.#options;
    const channels = underWay.unacknowledged();
    const body: DurablePost = { server: underWay.server, channels };
    const signal = this.#stopped.signal;
    try {
      await client.call({ method: "POST", path: "/events/durable", body, timeoutMs, signal }, z.object({}));
    } catch {
      return false;
    }
    underWay.acknowledged(channels);
    return true;
  }

  /**
   * Hands one event over until it is durable.
   * @returns false if the intake was stopped before that
   */
  async #receive(event: LocalEvent, inbox: PlatformInbox): Promise<boolean> {
    const { log, backOff } = this.#options;
    const { id } = event;
    try {
      const { outcome } = await retry(
        async () => inbox.receive(event),
        (error, failures) => {
          if (error instanceof UnstorableError) return null;
          const fields = { id, why: errorMessage(error), attempt: failures + 1 };
          log.warn(fields, "a loopback event could not be stored yet");
          return backoffMs(backOff, failures);
        },
        this.#stopped.signal,
      );
      if (outcome === "unbound" || outcome === "unknown_message")
        log.info({ id, outcome }, "a loopback event was not taken");
    } catch (error) {
      if (!(error instanceof UnstorableError)) return false;
      // It would hold up the later events of its channel for ever.
      log.error({ id, why: errorMessage(error) }, "a loopback event can't be stored: it is left out");
    }
    return true;
  }

  async #runCommand(event: LoopbackEvent & { type: "command" }, inbox: PlatformInbox): Promise<void> {
    const { client, timeoutMs, log } = this.#options;
    const { id, name: command } = event;
    const answer = await inbox.command(toCommand(PLATFORM_NAME, event)).catch((error: unknown) => {
      log.warn({ command, why: errorMessage(error) }, "a loopback command did not work");
      return COMMAND_FAILED;
    });
    try {
      const path = `/commands/${encodeURIComponent(id)}/answer`;
      await client.call({ method: "POST", path, body: toAnswer(answer), timeoutMs }, z.object({}));
    } catch (error) {
      log.warn({ command, why: errorMessage(error) }, "a loopback command was not answered");
    }
  }

  /** Waits, unless the intake is stopped. */
  async #backOff(failures: number): Promise<void> {
    await pause(backoffMs(this.#options.backOff, failures - 1), this.#stopped.signal);
  }
}
