/**
 * The terminal as a platform: its own screen or stream in a daemon, or a chat attached over a socket. It talks to Weir only
 * through the port in `platform.ts`, and never to the store.
 */

import { randomUUID } from "node:crypto";
import { BoundedMap } from "../../async/bounded-map.ts";
import { unreachable } from "../../core/errors.ts";
import { parseAddress } from "../../core/ids.ts";
import type { OutboundMessage } from "../../core/message.ts";
import { type Platform, type PlatformCapabilities, PlatformError, type PlatformInbox } from "../platform.ts";
import { PLATFORM_NAME } from "./intake.ts";
import { InteractivePresenter } from "./presenters/interactive-presenter.ts";
import { JsonlPresenter } from "./presenters/jsonl-presenter.ts";
import { LinesPresenter } from "./presenters/lines-presenter.ts";
import { Output, OutputClosedError } from "./output.ts";
import { PendingMessages } from "./pending-messages.ts";
import type { Presenter, Session } from "./presenters/presenter.ts";
import type { TurnFeed, TurnNews } from "./turn-news.ts";

/**
 * `interactive`: a person at a terminal. `lines`: piped text, answered line by line. `jsonl`: a script with many
 * channels side by side.
 */
const PRESENTERS = { interactive: InteractivePresenter, lines: LinesPresenter, jsonl: JsonlPresenter };
export type TerminalMode = keyof typeof PRESENTERS;

export interface TerminalOptions
  extends Omit<Session, "output" | "screen" | "pending" | Defaulted>, Partial<Pick<Session, Defaulted>> {
  readonly mode: TerminalMode;
  readonly output: Session["screen"];
  readonly turns: TurnFeed;
}

/** Defaults: no facts, the current folder, the wall clock, ids unique over restarts; its Weir ends with it. */
type Defaulted = "isAttached" | "about" | "exportsTo" | "now" | "newId";

/** Most final texts that are remembered, so that a text whose acknowledgement was lost is not printed again. */
const MAX_REMEMBERED = 256;

/** The terminal as a chat platform. The streams stay open when it is disposed of. */
export class TerminalPlatform implements Platform {
  readonly name = PLATFORM_NAME;
  readonly capabilities: PlatformCapabilities;
  readonly #presenter: Presenter;
  readonly #output: Output;
  readonly #pending = new PendingMessages();
  readonly #turns: TurnFeed;
  readonly #newId: () => string;
  readonly #closed = Promise.withResolvers<void>();
  /**
   * Resolves when the session is over: at Ctrl-D or `/quit`; in `lines` and `jsonl` at the end of the input, once every message
   * is answered, skipped, stopped or failed with a word; in every mode when the output is closed, and after `stopIntake` and
   * dispose.
   */
  readonly closed = this.#closed.promise;
  #unsubscribe = (): void => undefined;
  /** Ids and texts of the latest messages that are written in their final form. */
  readonly #final = new BoundedMap<string>(MAX_REMEMBERED);

  constructor(options: TerminalOptions) {
    this.#output = new Output(options.output);
    this.#turns = options.turns;
    this.#newId = options.newId ?? randomUUID;
    const session: Session = {
      ...options,
      output: this.#output,
      screen: options.output,
      pending: this.#pending,
      about: options.about ?? (() => []),
      isAttached: options.isAttached ?? false,
      exportsTo: options.exportsTo ?? ".",
      now: options.now ?? (() => new Date()),
      newId: this.#newId,
    };
    const presenter: Presenter = new PRESENTERS[options.mode](session);
    this.#presenter = presenter;
    this.capabilities = {
      streaming: presenter.streaming,
      // Output of before a restart cannot be inspected.
      takesIdempotencyKeys: false,
      maxTextLength: Number.MAX_SAFE_INTEGER,
      isHere: true,
      showsSpeakers: true,
      serves: (address) =>
        !this.#output.isClosed && address.platform === PLATFORM_NAME && presenter.serves(address.name),
    };
  }

  /** Messages of this session that still wait for their end. */
  get awaited(): readonly { readonly channel: string; readonly id: string }[] {
    return this.#pending.list();
  }

  /**
   * Shows a remark, if a person sits at the terminal.
   * @param isUrgent it does not wait for the end of an answer that is being written
   */
  remark(text: string, isUrgent = false): void {
    this.#presenter.remark(text, isUrgent).catch((error: unknown) => {
      if (!(error instanceof OutputClosedError)) this.#closed.reject(error);
    });
  }

  /** Shows a message that another person has sent to the channel from another terminal. */
  overhear(author: string, text: string): void {
    this.remark(`${author}> ${text}`);
  }

  // oxlint-disable-next-line require-await -- an interface's method
  async start(inbox: PlatformInbox): Promise<void> {
    this.#unsubscribe = this.#turns.on((told) => this.#tell(told));
    void this.#output.closed.then(() => this.#closed.resolve());
    this.#presenter.run(inbox).then(this.#closed.resolve, (error: unknown) => {
      if (error instanceof OutputClosedError) this.#closed.resolve();
      else this.#closed.reject(error);
    });
  }

  async stopIntake(): Promise<void> {
    await this.#presenter.stopIntake();
  }

  async send(message: OutboundMessage): Promise<string> {
    const id = this.#newId();
    await this.edit(id, message);
    return id;
  }

  /** An id of an earlier session is unknown here: its message is shown whole. The same final text is shown once. */
  async edit(messageId: string, message: OutboundMessage): Promise<void> {
    if (message.final && this.#final.get(messageId) === message.text) return;
    try {
      await this.#presenter.show(messageId, message);
    } catch (error) {
      if (!(error instanceof OutputClosedError)) throw error;
      throw new PlatformError(PLATFORM_NAME, "unavailable", "Nobody reads the terminal's output any more.", {
        cause: error,
      });
    }
    if (!message.final) return;
    this.#final.set(messageId, message.text);
    this.#pending.deliver(message.channel.name, message.inReplyTo);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#unsubscribe();
    await this.#presenter.stopIntake();
    this.#output.release();
    this.#closed.resolve();
  }

  /** Passes the events of a channel to the presenter that shows it. */
  #tell(told: TurnNews): void {
    const channel = parseAddress(told.news.channel);
    if (!this.capabilities.serves(channel)) return;
    this.#present(channel.name, told).catch((error: unknown) => {
      if (!(error instanceof OutputClosedError)) this.#closed.reject(error);
    });
  }

  async #present(channel: string, { type, news }: TurnNews): Promise<void> {
    const presenter = this.#presenter;
    switch (type) {
      case "settled":
        return await presenter
          .settled(channel, news)
          .finally(() => this.#pending.settle(channel, news.inReplyTo, news.outcome));
      case "emergency":
        return await presenter.emergency(channel, news.omitted);
      case "compaction":
        return await presenter.compaction(channel, news);
      case "retry":
        return presenter.retrying(channel, news);
      default:
        return unreachable(type);
    }
  }
}
