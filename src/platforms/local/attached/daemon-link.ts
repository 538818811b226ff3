import { createConnection } from "node:net";
import { once } from "node:events";
import type { z } from "zod";
import { backoffMs, jittered } from "../../../async/backoff.ts";
import { pause, steadyNow } from "../../../async/clock.ts";
import { withDeadline } from "../../../async/deadline.ts";
import type { CommandAnswer } from "../../../core/card.ts";
import { errorCode, OperatorError, unreachable, WeirError } from "../../../core/errors.ts";
import type { OutboundMessage, Receipt } from "../../../core/message.ts";
import type { InboundCommand, PlatformInbox } from "../../platform.ts";
import { PLATFORM_NAME } from "../../terminal/intake.ts";
import type { TurnFeed, TurnNews } from "../../terminal/turn-news.ts";
import { MAX_LINE_LENGTH } from "../../terminal/typed/line-reader.ts";
import { answerSchema, fromAnswer, fromCommand, fromInbound, type LocalEvent } from "../messages.ts";
import { JsonLines } from "./json-lines.ts";
import {
  type DaemonLine,
  daemonLineSchema,
  type Hello,
  outcomesSchema,
  PROTOCOL,
  receiptSchema,
  type ShownText,
  type Welcome,
} from "./wire.ts";
import { weirCommand } from "../../../files/installation.ts";

/** A daemon answers a hello without waiting for anything. */
const WELCOME_MS = 10_000;
/** Between attempts to attach again, ms. */
const BACKOFF = { fromMs: 100, toMs: 2000 };

const DRAINING = "Weir ends, and finishes what it has begun.";
const HOST_LEAVES =
  "The chat whose Weir this is leaves, and Weir ends with it when what it has begun is finished.";

/** There is no connection to the daemon, or it was cut before the answer. */
class DaemonGoneError extends WeirError {
  readonly retryable = true;
}

/** The daemon says why something failed. */
class RefusedError extends WeirError {
  readonly retryable = false;
}

/** The chat's host was another chat's Weir, which has left. */
export class HostLeftError extends OperatorError {
  constructor(pid: number) {
    super(
      `The chat (process ${pid}) whose Weir this was has left, and Weir has ended with it. What was said is in the log: \`${weirCommand("chat")}\` goes on.`,
    );
  }
}

/** The attached chat, as the daemon's lines reach it. */
export interface LinkedChat {
  /** @throws if it is not out */
  show(id: string, message: OutboundMessage): Promise<void>;
  /** Another person has said something in its channel. */
  said(author: string, text: string): void;
  /** Messages whose end the chat waits for. */
  readonly awaited: readonly { readonly channel: string; readonly id: string }[];
  /**
   * Shows a remark to the person at the terminal.
   * @param isUrgent it does not wait for the end of an answer that is being written
   */
  remark(text: string, isUrgent?: boolean): void;
}

interface LinkOptions {
  readonly hello: Omit<Hello, "type">;
  /** Finds the socket again; null: there is no socket at the moment. */
  readonly findSocket: () => Promise<string | null>;
  /** Longest wait for a daemon that has ended, ms. */
  readonly patienceMs: number;
}

interface Connected {
  readonly lines: JsonLines;
  readonly welcome: Welcome;
}

interface Question {
  readonly line: object;
  readonly answer: PromiseWithResolvers<unknown>;
  /** The question is idempotent, so the next connection repeats it. */
  readonly isRepeatable: boolean;
  /** It was sent over a connection that was cut. */
  isRepeated: boolean;
}

/**
 * @param signal ends it
 * @returns null: the socket has no listener, or the signal was aborted
 * @throws OperatorError if the daemon refuses this chat, in the daemon's words; or if it runs under another account
 */
async function connect(
  path: string,
  hello: LinkOptions["hello"],
  signal?: AbortSignal,
): Promise<Connected | null> {
  const socket = createConnection(path);
  try {
    await once(socket, "connect", { signal });
  } catch (error) {
    socket.destroy();
    if (errorCode(error) !== "EACCES") return null;
    throw new OperatorError(
      `A Weir of another account listens at ${path}: only that account (and root) can chat with it.`,
    );
  }
  const lines = new JsonLines(socket);
  lines.send({ type: "hello", protocol: PROTOCOL, ...hello });
  const said = await withDeadline(lines.next(daemonLineSchema), WELCOME_MS, signal);
  if (said?.type === "welcome" && signal?.aborted !== true) return { lines, welcome: said };
  lines[Symbol.dispose]();
  if (signal?.aborted === true) return null;
  if (said?.type === "refused") throw new OperatorError(said.why);
  // The daemon has closed the connection.
  if (said === null) return null;
  throw new OperatorError(`What listens at ${path} does not speak as this version of Weir does.`);
}

/**
 * A chat's end of the connection to a daemon. It stands for the daemon's inbox and its news. After a cut it connects again and
 * repeats unanswered requests: messages under the same ids, so that none is accepted twice.
 */
export class DaemonLink implements PlatformInbox {
  readonly turns: TurnFeed = {
    on: (listener) => {
      this.#listeners.add(listener);
      return () => this.#listeners.delete(listener);
    },
  };
  /** The daemon's greeting when the chat attached first. */
  readonly welcome: Welcome;
  readonly #options: LinkOptions;
  readonly #questions = new Map<number, Question>();
  readonly #listeners = new Set<(news: TurnNews) => void>();
  /** Channels in which the chat has spoken. */
  readonly #open = new Set<string>();
  readonly #leaving = new AbortController();
  #connected: Connected | null;
  #next = 0;

  private constructor(options: LinkOptions, connected: Connected) {
    this.#options = options;
    this.#connected = connected;
    this.welcome = connected.welcome;
  }

  /**
   * @returns null: there is no daemon to attach to
   * @throws OperatorError if the daemon refuses this chat, in the daemon's words
   */
  static async open(options: LinkOptions): Promise<DaemonLink | null> {
    const path = await options.findSocket();
    const connected = path === null ? null : await connect(path, options.hello);
    return connected === null ? null : new DaemonLink(options, connected);
  }

  /**
   * Passes incoming lines to the chat, until `leave`.
   * @throws OperatorError if the daemon does not return after its end; HostLeftError if it was another chat's
   */
  async run(chat: LinkedChat): Promise<void> {
    try {
      await this.#serve(chat);
    } finally {
      this.leave();
    }
  }

  async #serve(chat: LinkedChat): Promise<void> {
    while (this.#connected !== null) {
      const { welcome } = this.#connected;
      await this.#read(this.#connected, chat);
      this.#connected = null;
      this.#giveUp(
        ({ isRepeatable }) => isRepeatable,
        "The connection to Weir was lost before the answer came.",
      );
      if (this.#leaving.signal.aborted) break;
      // A chat's own Weir is not started again.
      if (welcome.isOfChat) throw new HostLeftError(welcome.pid);
      chat.remark("The connection to Weir is lost; trying again. What you say meanwhile is sent then.", true);
      this.#connected = await this.#connectAgain();
      if (this.#connected === null) break;
      chat.remark(`Attached to Weir again (process ${this.#connected.welcome.pid}).`, true);
      void this.#catchUp(chat);
    }
    if (this.#leaving.signal.aborted) return;
    throw new OperatorError(
      `Weir did not come back within ${Math.round(this.#options.patienceMs / 1000)} seconds. What it had taken is in its log; start it again with \`${weirCommand("start")}\`.`,
    );
  }

  async receive(event: LocalEvent): Promise<Receipt> {
    if (event.type === "message") this.#open.add(event.channel.name);
    const line = { event: fromInbound(event) };
    const { value, isRepeated } = await this.#ask("receive", line, receiptSchema, true);
    // The daemon stored it before the cut, and its answer was lost.
    return value.outcome === "duplicate" && isRepeated ? { ...value, outcome: "accepted" } : value;
  }

  async command(command: InboundCommand): Promise<CommandAnswer> {
    const line = { command: fromCommand(command) };
    return fromAnswer((await this.#ask("command", line, answerSchema, false)).value);
  }

  async meetServers(): Promise<void> {
    // A terminal is in no servers.
  }

  async meetChannels(): Promise<void> {
    // As above.
  }

  /** True: what is said reaches the daemon. */
  get isConnected(): boolean {
    return this.#connected !== null;
  }

  /** Closes the connection for good; the daemon continues. Unanswered requests fail. */
  leave(): void {
    this.#leaving.abort();
    this.#connected?.lines.end();
    this.#giveUp(() => false, "Weir cannot be reached.");
  }

  #giveUp(isKept: (question: Question) => boolean, why: string): void {
    for (const [n, question] of this.#questions) {
      question.isRepeated = true;
      if (isKept(question)) continue;
      this.#questions.delete(n);
      question.answer.reject(new DaemonGoneError(why));
    }
  }

  async #connectAgain(): Promise<Connected | null> {
    const { findSocket, hello, patienceMs } = this.#options;
    const until = steadyNow() + patienceMs;
    for (let failures = 0; steadyNow() < until; failures++) {
      await pause(jittered(backoffMs(BACKOFF, failures)), this.#leaving.signal);
      if (this.#leaving.signal.aborted) return null;
      const path = await findSocket().catch(() => null);
      const connected = path === null ? null : await connect(path, hello, this.#leaving.signal);
      if (connected !== null) return connected;
    }
    return null;
  }

  /** Repeats unanswered questions, then asks for the outcome of messages that the chat still waits for. */
  async #catchUp(chat: LinkedChat): Promise<void> {
    if (this.#open.size > 0) this.#connected?.lines.send({ type: "open", channels: [...this.#open] });
    const again = [...this.#questions];
    for (const [n, { line }] of again) this.#connected?.lines.send({ ...line, n });
    await Promise.allSettled(again.map(async ([, { answer }]) => answer.promise));
    const { awaited } = chat;
    if (awaited.length === 0) return;
    const asked = this.#ask("outcomes", { of: awaited }, outcomesSchema, false);
    // After another cut, the next connection repeats this.
    const outcomes = (await asked.catch(() => null))?.value ?? [];
    /** Reported turns: a turn that owned several of the messages has an outcome for each. */
    const told = new Set<string>();
    for (const outcome of outcomes) {
      if (outcome === null) continue;
      const turn = JSON.stringify(outcome.settled);
      if (told.has(turn)) continue;
      told.add(turn);
      this.#tell({ type: "settled", news: outcome.settled });
      const { answer } = outcome;
      if (answer !== null)
        await chat.show(answer.id, toOutbound(answer.id, answer.message)).catch(() => undefined);
    }
  }

  async #ask<Schema extends z.ZodType>(
    type: string,
    fields: object,
    schema: Schema,
    isRepeatable: boolean,
  ): Promise<{ readonly value: z.output<Schema>; readonly isRepeated: boolean }> {
    if (this.#leaving.signal.aborted) throw new DaemonGoneError("Weir cannot be reached.");
    if (!isRepeatable && this.#connected === null)
      throw new DaemonGoneError("Weir is not connected just now. Try it again in a moment.");
    const line = { type, ...fields };
    if (JSON.stringify(line).length > MAX_LINE_LENGTH - 100)
      throw new RefusedError("It is longer than what can be handed to a running Weir.");
    const n = this.#next++;
    const question = { line, answer: Promise.withResolvers<unknown>(), isRepeatable, isRepeated: false };
    this.#questions.set(n, question);
    this.#connected?.lines.send({ ...line, n });
    const value = schema.parse(await question.answer.promise);
    return { value, isRepeated: question.isRepeated };
  }

  /** Resolves when the connection is over. */
  async #read(connected: Connected, chat: LinkedChat): Promise<void> {
    const { lines } = connected;
    for (;;) {
      const said = await lines.next(daemonLineSchema);
      // Undefined: it is of another version, or no Weir at all.
      if (said === null || said === undefined) break;
      this.#take(said, connected, chat);
    }
    lines[Symbol.dispose]();
  }

  #take(said: DaemonLine, { lines, welcome }: Connected, chat: LinkedChat): void {
    switch (said.type) {
      case "show": {
        const { n, id, message } = said;
        chat.show(id, toOutbound(id, message)).then(
          () => void lines.send({ type: "shown", n, failed: false }),
          () => void lines.send({ type: "shown", n, failed: true }),
        );
        return;
      }
      case "reply":
        return this.#answered(said.n)?.resolve(said.value);
      case "failed":
        return this.#answered(said.n)?.reject(new RefusedError(said.why));
      case "settled":
      case "emergency":
      case "compaction":
      case "retry":
        return this.#tell(said);
      case "said":
        return chat.said(said.author, said.text);
      case "remark":
        return chat.remark(said.text);
      case "draining":
        return chat.remark(welcome.isOfChat ? HOST_LEAVES : DRAINING, true);
      case "welcome":
      case "refused":
        return;
      default:
        return unreachable(said);
    }
  }

  #tell(news: TurnNews): void {
    for (const listener of this.#listeners) listener(news);
  }

  #answered(n: number): PromiseWithResolvers<unknown> | undefined {
    const question = this.#questions.get(n);
    this.#questions.delete(n);
    return question?.answer;
  }
}

function toOutbound(id: string, { channel, speaker, timing, ...message }: ShownText): OutboundMessage {
  return {
    ...message,
    channel: { platform: PLATFORM_NAME, name: channel },
    idempotencyKey: id,
    mayBeThere: false,
    ...(speaker !== undefined && { speaker }),
    ...(timing !== undefined && { timing }),
  };
}
