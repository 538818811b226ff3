import { randomUUID } from "node:crypto";
import PQueue from "p-queue";
import { errorMessage, OperatorError } from "../../../../core/errors.ts";
import { DaemonLink, type LinkedChat } from "../../../../platforms/local/attached/daemon-link.ts";
import { defaultSpeaker, receive, refusal, typedMessage } from "../../../../platforms/terminal/intake.ts";
import { readTypedLine } from "../../../../platforms/terminal/typed/typed-line.ts";

export interface PageChatsParts {
  /** Finds the socket by which chats attach to this daemon; null: there is none. */
  readonly findSocket: () => Promise<string | null>;
  /** Whether a live page shows the terminal's channel of that name. */
  readonly isWatched: (channel: string) => boolean;
  /** Ends all chats. */
  readonly closing: AbortSignal;
  /** How long a chat stays after the last text, ms; default: five minutes. */
  readonly restMs?: number | undefined;
}

/** A channel of the terminal. */
export interface TalkedIn {
  /** Without its platform; null: the one that is named after the first agent. */
  readonly channel: string | null;
  /** Several people share it: `name: text` speaks as that name. */
  readonly multi: boolean;
}

/** `channel` is its name without the platform; `why` is for the person. */
export type Said = { readonly channel: string } | { readonly why: string };

const REST_MS = 300_000;
/** Most channels in which the page chats at a time. */
const MOST = 32;

/**
 * What is said on the page in channels of the terminal. In each channel the page is a chat that is attached to its own daemon, as
 * `weir chat` is. It stays while a live page shows the channel, and for a while after each text; what is answered later waits for
 * the next chat.
 */
export class PageChats {
  readonly #parts: PageChatsParts;
  readonly #chats = new Map<string, PageChat>();
  /** One at a time, so that two texts of one channel have one chat. */
  readonly #opens = new PQueue({ concurrency: 1 });

  constructor(parts: PageChatsParts) {
    this.#parts = parts;
    parts.closing.addEventListener("abort", () => this.#chats.forEach((chat) => chat.leave()), {
      once: true,
    });
  }

  /** Resolves when the text is stored, or cannot be. */
  async say(where: TalkedIn, text: string): Promise<Said> {
    const { multi } = where;
    const typed = readTypedLine(text, { speaker: defaultSpeaker(), multi });
    if (typed.type === "empty") return { why: "Nothing was written." };
    if (typed.type !== "message")
      return { why: "Commands are typed in `weir chat`. A message that begins with / is written with //." };
    try {
      const { link, channel } = await this.#opens.add(async () => this.#chatIn(where));
      const session = { channel, multi, newId: randomUUID, now: () => new Date() };
      const why = refusal(await receive(link, typedMessage(session, typed.speaker, typed.text)), session);
      return why === null ? { channel } : { why };
    } catch (error) {
      return { why: errorMessage(error) };
    }
  }

  /** @throws OperatorError if the page cannot chat there, in words for the person */
  async #chatIn({ channel: wanted, multi }: TalkedIn): Promise<PageChat> {
    const open = (name: string): PageChat | undefined => {
      const chat = this.#chats.get(name);
      return chat?.isOpen === true ? chat : undefined;
    };
    const there = wanted === null ? undefined : open(wanted);
    if (there !== undefined) return there;
    if (this.#chats.size >= MOST)
      throw new OperatorError("The page chats in too many channels: wait some minutes.");
    const link = await DaemonLink.open({
      hello: {
        channel: wanted,
        agent: null,
        kind: multi ? "channel" : "dm",
        opensAtOnce: true,
        streams: false,
      },
      findSocket: this.#parts.findSocket,
      patienceMs: 0,
    });
    if (link === null) throw new OperatorError("Chats cannot attach to this daemon: its log says why.");
    const { channel } = link.welcome;
    const before = open(channel);
    if (before !== undefined) {
      link.leave();
      return before;
    }
    const { isWatched, restMs = REST_MS, closing } = this.#parts;
    const chat = new PageChat(link, { isWanted: () => isWatched(channel), restMs });
    this.#chats.set(channel, chat);
    void chat.over.finally(() => {
      if (this.#chats.get(channel) === chat) this.#chats.delete(channel);
    });
    // The daemon may have begun to end meanwhile.
    if (closing.aborted) chat.leave();
    return chat;
  }
}

/** One chat of the page. It leaves by itself. */
class PageChat {
  readonly link: DaemonLink;
  /** Without its platform. */
  readonly channel: string;
  /** Resolves when it has left. */
  readonly over: Promise<void>;
  readonly #restMs: number;
  readonly #isWanted: () => boolean;
  #rest: NodeJS.Timeout;
  #isLeaving = false;

  constructor(
    link: DaemonLink,
    { isWanted, restMs }: { readonly isWanted: () => boolean; readonly restMs: number },
  ) {
    this.link = link;
    this.channel = link.welcome.channel;
    this.#restMs = restMs;
    this.#isWanted = isWanted;
    this.#rest = this.#leaveLater();
    // The page reads what is shown from the log.
    const shown: LinkedChat = {
      show: async () => this.#stay(),
      said: () => this.#stay(),
      remark: () => undefined,
      awaited: [],
    };
    const leave = (): void => this.leave();
    // It fails when the daemon ends, and the page with it.
    this.over = link.run(shown).then(leave, leave);
  }

  get isOpen(): boolean {
    return !this.#isLeaving && this.link.isConnected;
  }

  leave(): void {
    this.#isLeaving = true;
    clearTimeout(this.#rest);
    this.link.leave();
  }

  #stay(): void {
    clearTimeout(this.#rest);
    this.#rest = this.#leaveLater();
  }

  #leaveLater(): NodeJS.Timeout {
    const look = (): void => {
      if (this.#isWanted()) this.#stay();
      else this.leave();
    };
    return setTimeout(look, this.#restMs).unref();
  }
}
