import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chmod, rename, rm, stat } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import type { Logger } from "pino";
import { unlessAborted } from "../../../async/deadline.ts";
import { errorMessage } from "../../../core/errors.ts";
import { type ChannelAddress, parseAddress } from "../../../core/ids.ts";
import type { InboundMessage, OutboundMessage } from "../../../core/message.ts";
import {
  type Platform,
  type PlatformCapabilities,
  PlatformError,
  type PlatformInbox,
} from "../../platform.ts";
import { PLATFORM_NAME } from "../../terminal/intake.ts";
import type { TurnFeed } from "../../terminal/turn-news.ts";
import type { TerminalPlatform } from "../../terminal/terminal-platform.ts";
import { AttachedChat, type ChatHost } from "./attached-chat.ts";

interface SharedTerminalOptions {
  /** The daemon's own terminal; null: the daemon runs without one. */
  readonly own: TerminalPlatform | null;
  /** Finds the place where chats attach. */
  readonly socket: () => Promise<string>;
  readonly turns: TurnFeed;
  readonly log: Logger;
}

const MAX_CHATS = 256;
/** Answers are written in a terminal as they come. */
const AT_ONCE = { intervalMs: 0 };

/**
 * The terminal platform of a daemon: its own terminal, and the chats that are attached to it over a socket. Several may have
 * the same channel open: each shows its messages, and a text is delivered once one of them has confirmed it. Texts for a
 * channel that is not open wait for the next chat that opens it.
 */
export class SharedTerminal implements Platform {
  readonly name = PLATFORM_NAME;
  readonly capabilities: PlatformCapabilities;
  readonly #options: SharedTerminalOptions;
  readonly #connections = new Set<AttachedChat>();
  /** Those of them that have said what they want to be. */
  readonly #chats = new Set<AttachedChat>();
  #unsubscribe = (): void => undefined;
  #listener: ChatListener | null = null;
  #host: ChatHost | null = null;
  #isOpen = false;
  /** Settles once no message of a chat is on its way into the log. */
  #chatsStopped: Promise<unknown> | null = null;

  constructor(options: SharedTerminalOptions) {
    this.#options = options;
    const mayStream = (): boolean =>
      (options.own !== null && options.own.capabilities.streaming !== false) ||
      [...this.#chats].some(({ streams }) => streams);
    this.capabilities = {
      get streaming() {
        return mayStream() ? AT_ONCE : false;
      },
      takesIdempotencyKeys: false,
      maxTextLength: Number.MAX_SAFE_INTEGER,
      isHere: true,
      showsSpeakers: true,
      serves: (address) => this.#ownServes(address) || this.#chatsOf(address).length > 0,
    };
  }

  /** To be called before the start. */
  hostedBy(host: ChatHost): void {
    this.#host = host;
  }

  async start(inbox: PlatformInbox): Promise<void> {
    const { own, socket, turns, log } = this.#options;
    this.#isOpen = true;
    await own?.start(this.#overheard(inbox, null));
    const host = this.#host;
    if (host === null) return;
    this.#unsubscribe = turns.on((told) => {
      for (const chat of this.#chatsOf(parseAddress(told.news.channel))) chat.tell(told);
    });
    try {
      const place = await socket();
      // Intake may have been stopped during the wait.
      if (!this.#isOpen) return;
      this.#listener = new ChatListener(place, (chat) => void this.#attach(chat, host, inbox));
      await this.#listener.open();
    } catch (error) {
      // The daemon works without this.
      log.warn({ why: errorMessage(error) }, "chats_cannot_attach");
    }
  }

  async stopIntake(deadline: AbortSignal): Promise<void> {
    this.#isOpen = false;
    await this.#listener?.[Symbol.asyncDispose]();
    // Each chat is stopped once.
    this.#chatsStopped ??= Promise.all([...this.#chats].map(async (chat) => chat.stopIntake()));
    await Promise.all([this.#options.own?.stopIntake(), unlessAborted(this.#chatsStopped, deadline)]);
  }

  async send(message: OutboundMessage): Promise<string> {
    // The same for every attempt, so that a chat shows the text only once.
    const id = message.idempotencyKey;
    await this.edit(id, message);
    return id;
  }

  async edit(messageId: string, message: OutboundMessage): Promise<void> {
    const { own } = this.#options;
    const showing = this.#chatsOf(message.channel).map(async (chat) => chat.show(messageId, message));
    if (own !== null && this.#ownServes(message.channel)) showing.push(own.edit(messageId, message));
    try {
      // One that was stopped (Ctrl-Z) holds up no other.
      await Promise.any(showing);
    } catch (error) {
      const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
      if (first !== undefined) throw first;
      throw new PlatformError(PLATFORM_NAME, "unavailable", "No terminal has this channel open.");
    }
  }

  /** Shows a remark to the people at all its terminals. */
  remark(text: string): void {
    for (const chat of this.#chats) chat.tell({ type: "remark", text });
    this.#options.own?.remark(`(${text})`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#unsubscribe();
    await this.stopIntake(AbortSignal.abort());
    for (const chat of this.#connections) chat.end();
    await this.#options.own?.[Symbol.asyncDispose]();
  }

  #ownServes(address: ChannelAddress): boolean {
    return this.#options.own?.capabilities.serves(address) === true;
  }

  #chatsOf({ platform, name }: ChannelAddress): AttachedChat[] {
    if (platform !== PLATFORM_NAME) return [];
    return [...this.#chats].filter((chat) => chat.hasOpen(name));
  }

  /** The inbox of one chat, which also shows its messages to the other chats in the channel. */
  #overheard(inbox: PlatformInbox, from: AttachedChat | null): PlatformInbox {
    return {
      receive: async (event) => {
        const receipt = await inbox.receive(event);
        if (event.type === "message" && receipt.outcome === "accepted") this.#said(event, from);
        return receipt;
      },
      command: async (command) => inbox.command(command),
      meetServers: async (platform, list) => inbox.meetServers(platform, list),
      meetChannels: async (platform, channels) => inbox.meetChannels(platform, channels),
    };
  }

  #said({ channel, author: { name }, text }: InboundMessage, from: AttachedChat | null): void {
    for (const chat of this.#chats)
      if (chat !== from && chat.hasOpen(channel.name)) chat.tell({ type: "said", author: name, text });
    if (from !== null && this.#ownServes(channel)) this.#options.own?.overhear(name, text);
  }

  async #attach(socket: Socket, host: ChatHost, inbox: PlatformInbox): Promise<void> {
    if (!this.#isOpen) {
      socket.destroy();
      return;
    }
    const chat = new AttachedChat(socket, host);
    this.#connections.add(chat);
    await chat.serve(this.#overheard(inbox, chat), () => this.#chats.add(chat));
    this.#chats.delete(chat);
    this.#connections.delete(chat);
  }
}

/**
 * Listens on a Unix socket, in a folder that is closed to other accounts. An existing socket is replaced at once: it belongs to
 * a killed daemon, or to one that makes way for this.
 */
class ChatListener implements AsyncDisposable {
  readonly #path: string;
  readonly #server: Server;
  /** The socket's inode, which distinguishes it from a later daemon's in the same place. */
  #inode = 0n;
  #opening: Promise<void> | null = null;
  #closing: Promise<void> | null = null;

  constructor(path: string, onChat: (socket: Socket) => void) {
    this.#path = path;
    this.#server = createServer(onChat);
    this.#server.maxConnections = MAX_CHATS;
  }

  /** @throws Error if the socket cannot be made */
  async open(): Promise<void> {
    this.#opening = this.#open();
    await this.#opening;
  }

  async #open(): Promise<void> {
    const unfinished = `${this.#path}.${randomBytes(4).toString("hex")}`;
    this.#server.listen(unfinished);
    await once(this.#server, "listening");
    // A failed accept (no file descriptor is left) must not end the daemon.
    this.#server.on("error", () => undefined);
    await chmod(unfinished, 0o600);
    this.#inode = (await stat(unfinished, { bigint: true })).ino;
    await rename(unfinished, this.#path);
  }

  /** Accepts no more chats; attached ones stay. */
  async [Symbol.asyncDispose](): Promise<void> {
    // Only once: a later socket in its place is another daemon's, and may have the same number.
    this.#closing ??= this.#close();
    await this.#closing;
  }

  async #close(): Promise<void> {
    await this.#opening?.catch(() => undefined);
    this.#server.close();
    const there = await stat(this.#path, { bigint: true }).catch(() => null);
    if (there?.ino === this.#inode) await rm(this.#path, { force: true });
  }
}
