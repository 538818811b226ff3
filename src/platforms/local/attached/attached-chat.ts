import type { Socket } from "node:net";
import { errorMessage, unreachable } from "../../../core/errors.ts";
import type { OutboundMessage } from "../../../core/message.ts";
import { withDeadline } from "../../../async/deadline.ts";
import { PlatformError, type PlatformCommand, type PlatformInbox } from "../../platform.ts";
import { PLATFORM_NAME } from "../../terminal/intake.ts";
import { toAnswer, toCommand, toInbound, toText } from "../messages.ts";
import { JsonLines } from "./json-lines.ts";
import {
  type ChatLine,
  chatLineSchema,
  type DaemonLine,
  type Hello,
  helloSchema,
  PROTOCOL,
  type TurnEnding,
  versionSchema,
} from "./wire.ts";

/** The daemon's side for an attached chat, apart from messages and commands. */
export interface ChatHost {
  readonly pid: number;
  /** It is the Weir of a chat, and ends with it. */
  readonly isOfChat: boolean;
  readonly commands: readonly PlatformCommand[];
  /** @returns the agent that answers there; a text: why such a chat cannot attach */
  placeOf(wanted: Pick<Hello, "channel" | "agent" | "kind">): { channel: string; agent: string } | string;
  /** Facts for the person at the terminal, one a line. */
  about(): readonly string[];
  /** Resumes due work in channels that are served now. Must not throw. */
  takeUp(): Promise<void>;
  /** How the turn of a message of a terminal channel ended; null: it has not yet, or there is no such message. */
  endOf(channel: string, messageId: string): Promise<TurnEnding | null>;
}

/** Most unread output of a chat, UTF-8 bytes. A chat that was suspended (Ctrl-Z) for longer is cut off, and attaches again. */
const MAX_UNREAD = 32 * 1024 * 1024;
/** The hello of a chat is short, and comes at once. */
const MAX_HELLO_BYTES = 64 * 1024;
const HELLO_MS = 10_000;
/** Most questions of one chat that are answered at a time: at the limit its input is not read. */
const MAX_ASKED = 512;

/** A script's new channels within this time are loaded together, ms. */
const TAKE_UP_MS = 200;

type Question = Exclude<ChatLine, { type: "shown" | "open" }>;

/** The daemon's end of one chat. */
export class AttachedChat {
  readonly #host: ChatHost;
  readonly #socket: Socket;
  readonly #lines: JsonLines;
  /** Texts that the chat has not confirmed. */
  readonly #unconfirmed = new Map<number, PromiseWithResolvers<void>>();
  readonly #asked = new Set<Promise<void>>();
  /** Channels, without their platform. */
  readonly #open = new Set<string>();
  #hello: Hello | null = null;
  #takingUp: NodeJS.Timeout | null = null;
  #next = 0;
  #isDraining = false;

  constructor(socket: Socket, host: ChatHost) {
    this.#socket = socket;
    this.#host = host;
    this.#lines = new JsonLines(socket, MAX_UNREAD);
  }

  /** It shows answers while they are written. */
  get streams(): boolean {
    return this.#hello?.streams === true;
  }

  hasOpen(channel: string): boolean {
    return this.#open.has(channel);
  }

  /**
   * Serves the chat until the connection ends. Never rejects.
   * @param onReady called after the chat's hello; from then on it gets texts and news
   */
  async serve(inbox: PlatformInbox, onReady: () => void): Promise<void> {
    const hello = await this.#greet();
    if (hello !== null) {
      onReady();
      if (hello.opensAtOnce) void this.#host.takeUp();
      while (await this.#takeLine(inbox));
    }
    this.#lines.end();
    if (this.#takingUp !== null) clearTimeout(this.#takingUp);
    await this.#lines.closed;
    for (const { reject } of this.#unconfirmed.values()) reject(gone());
    this.#unconfirmed.clear();
  }

  /**
   * Shows a text. Resolves once the chat confirms that it is written.
   * @throws PlatformError
   */
  async show(id: string, message: OutboundMessage): Promise<void> {
    if (!message.final && !this.streams) return;
    const n = this.#next++;
    const confirmed = Promise.withResolvers<void>();
    this.#unconfirmed.set(n, confirmed);
    const { channel, speaker } = message;
    const shown = { ...toText(message), channel: channel.name, speaker };
    if (!this.tell({ type: "show", n, id, message: shown })) {
      this.#unconfirmed.delete(n);
      throw gone();
    }
    await confirmed.promise;
  }

  /** @returns false: the connection is over */
  tell(line: DaemonLine): boolean {
    return this.#lines.send(line);
  }

  /** Accepts no new messages. Resolves once no message is on its way into the log. */
  async stopIntake(): Promise<void> {
    this.#isDraining = true;
    this.tell({ type: "draining" });
    await Promise.all(this.#asked);
  }

  end(): void {
    this.#lines.end();
  }

  /** @returns null: it is no chat, or such a chat cannot attach */
  async #greet(): Promise<Hello | null> {
    const tooMuch = (): void => {
      if (this.#socket.bytesRead > MAX_HELLO_BYTES) this.#lines[Symbol.dispose]();
    };
    this.#socket.on("data", tooMuch);
    const line = await withDeadline(this.#lines.next(versionSchema), HELLO_MS);
    this.#socket.off("data", tooMuch);
    if (line === null || line === undefined) return null;
    if (line.protocol !== PROTOCOL)
      return this.#refuse(
        `The Weir that runs here (process ${this.#host.pid}) is of another version than this chat. Restart it, or chat by its version.`,
      );
    const hello = helloSchema.safeParse(line).data;
    if (hello === undefined) return null;
    const place = this.#host.placeOf(hello);
    if (typeof place === "string") return this.#refuse(place);
    this.#hello = hello;
    if (hello.opensAtOnce) this.#open.add(place.channel);
    const { pid, isOfChat, commands } = this.#host;
    this.tell({
      type: "welcome",
      pid,
      isOfChat,
      ...place,
      about: [...this.#host.about()],
      commands: [...commands],
    });
    return hello;
  }

  #refuse(why: string): null {
    this.tell({ type: "refused", why });
    return null;
  }

  /** @returns false: the connection is over, or the line was malformed */
  async #takeLine(inbox: PlatformInbox): Promise<boolean> {
    while (this.#asked.size >= MAX_ASKED) await Promise.race(this.#asked);
    const said = await this.#lines.next(chatLineSchema);
    if (said === null || said === undefined) return false;
    if (said.type === "shown") this.#confirm(said.n, said.failed);
    else if (said.type === "open") said.channels.forEach((channel) => this.#opens(channel));
    // It asks the next daemon.
    else if (!this.#isDraining) this.#answer(said, inbox);
    return true;
  }

  #confirm(n: number, isFailed: boolean): void {
    const confirmed = this.#unconfirmed.get(n);
    this.#unconfirmed.delete(n);
    if (isFailed) confirmed?.reject(gone());
    else confirmed?.resolve();
  }

  /** Loads due work of the channel soon, together with that of other channels. */
  #opens(channel: string): void {
    if (this.#open.has(channel)) return;
    this.#open.add(channel);
    this.#takingUp ??= setTimeout(() => {
      this.#takingUp = null;
      void this.#host.takeUp();
    }, TAKE_UP_MS).unref();
  }

  #answer(asked: Question, inbox: PlatformInbox): void {
    const { n } = asked;
    const answering = this.#work(asked, inbox).then(
      (value) => void this.tell({ type: "reply", n, value }),
      (error: unknown) => void this.tell({ type: "failed", n, why: errorMessage(error) }),
    );
    this.#asked.add(answering);
    void answering.finally(() => this.#asked.delete(answering));
  }

  async #work(asked: Question, inbox: PlatformInbox): Promise<unknown> {
    switch (asked.type) {
      case "receive":
        if (asked.event.type === "message") this.#opens(asked.event.channel);
        return await inbox.receive(toInbound(PLATFORM_NAME, asked.event));
      case "command":
        return toAnswer(await inbox.command(toCommand(PLATFORM_NAME, asked.command)));
      case "outcomes":
        return await Promise.all(asked.of.map(async ({ channel, id }) => this.#host.endOf(channel, id)));
      default:
        return unreachable(asked);
    }
  }
}

function gone(): PlatformError {
  return new PlatformError(PLATFORM_NAME, "unavailable", "The chat that was to show this has left.");
}
