import { errorMessage, OperatorError, WeirError } from "../../../../core/errors.ts";
import type { InboundMessage } from "../../../../core/message.ts";
import { weirCommand } from "../../../../files/installation.ts";
import { DaemonLink, type LinkedChat } from "../../../../platforms/local/attached/daemon-link.ts";
import { defaultSpeaker, type Intake, refusal, typedMessage } from "../../../../platforms/terminal/intake.ts";
import { readTypedLine } from "../../../../platforms/terminal/typed/typed-line.ts";

export interface PageChatsParts {
  /** Returns the path of the daemon's chat socket; null: the daemon has none at the moment. */
  readonly findSocket: () => Promise<string | null>;
  /** Whether a live page shows the terminal's channel of that name. */
  readonly isWatched: (channel: string) => boolean;
  /** Ends all chats. */
  readonly closing: AbortSignal;
  /** How long a chat stays after the last text that was said in it, ms; default: five minutes. */
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
/** Its chat was cut off before the daemon answered. */
const UNKNOWN = "Whether this is stored is not known: look into the channel before you say it again.";
/** Most channels in which the page chats at a time. */
const MOST = 32;

/**
 * What is said on the page in channels of the terminal. In each channel the page is a chat that is attached to its own daemon, as
 * `weir chat` is. It stays while a live page shows the channel, and for a while after each text that is said there; what is answered
 * later waits for the next chat.
 */
export class PageChats {
  readonly #parts: PageChatsParts;
  readonly #chats = new Map<string, PageChat>();
  /** By the channel that is wanted; "": the first agent's. */
  readonly #opening = new Map<string, Promise<PageChat>>();

  constructor(parts: PageChatsParts) {
    this.#parts = parts;
    parts.closing.addEventListener("abort", () => this.#chats.forEach((chat) => chat.leave()), {
      once: true,
    });
  }

  /**
   * Resolves when the text is stored, or cannot be.
   * @param id of the message: a second one of the same id in its channel is the same message
   */
  async say(where: TalkedIn, id: string, text: string): Promise<Said> {
    const { multi } = where;
    const typed = readTypedLine(text, { speaker: defaultSpeaker(), multi });
    if (typed.type === "empty") return { why: "Nothing was written." };
    if (typed.type !== "message")
      return {
        why: `Commands are typed in \`${weirCommand("chat")}\`. A message that begins with / is written with //.`,
      };
    let chat: PageChat;
    try {
      chat = await this.#chatIn(where);
    } catch (error) {
      return { why: errorMessage(error) };
    }
    const { channel } = chat;
    const session = { channel, multi, newId: () => id, now: () => new Date() };
    const intake = await chat.say(typedMessage(session, typed.speaker, typed.text));
    if (intake === null) return { why: UNKNOWN };
    // A form that was sent twice.
    const why = intake.outcome === "duplicate" ? null : refusal(intake, session);
    return why === null ? { channel } : { why };
  }

  /** @throws OperatorError if the page cannot chat there, in words for the person */
  async #chatIn(where: TalkedIn): Promise<PageChat> {
    const { channel } = where;
    const there = channel === null ? undefined : this.#openIn(channel);
    if (there !== undefined) return there;
    // Texts that are said at once have one chat.
    const key = channel ?? "";
    const opening = this.#opening.get(key) ?? this.#open(where).finally(() => this.#opening.delete(key));
    this.#opening.set(key, opening);
    return opening;
  }

  #openIn(channel: string): PageChat | undefined {
    const chat = this.#chats.get(channel);
    return chat?.isOpen === true ? chat : undefined;
  }

  async #open({ channel: wanted, multi }: TalkedIn): Promise<PageChat> {
    if (this.#chats.size >= MOST)
      throw new OperatorError("The page chats in too many channels: wait some minutes.");
    const kind = multi ? "channel" : "dm";
    const link = await DaemonLink.open({
      hello: { channel: wanted, agent: null, kind, opensAtOnce: true, streams: false },
      findSocket: this.#parts.findSocket,
      patienceMs: 0,
    });
    if (link === null)
      throw new OperatorError("Chats cannot attach to this daemon now: it ends, or its log says why.");
    const { channel } = link.welcome;
    const before = this.#openIn(channel);
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
  /** Without its platform. */
  readonly channel: string;
  /** Resolves when it has left. */
  readonly over: Promise<void>;
  readonly #link: DaemonLink;
  readonly #restMs: number;
  readonly #isWanted: () => boolean;
  #rest: NodeJS.Timeout;
  #saying = 0;
  #isLeaving = false;

  constructor(
    link: DaemonLink,
    { isWanted, restMs }: { readonly isWanted: () => boolean; readonly restMs: number },
  ) {
    this.#link = link;
    this.channel = link.welcome.channel;
    this.#restMs = restMs;
    this.#isWanted = isWanted;
    this.#rest = this.#leaveLater();
    const shown: LinkedChat = {
      // The page shows what the log has. A notice may stand nowhere else: it waits for the next chat.
      show: async (_, { kind }) =>
        kind === "answer"
          ? Promise.resolve()
          : Promise.reject(new OperatorError("The page shows no notices.")),
      said: () => undefined,
      remark: (_, isUrgent = false) => {
        // The daemon ends, and takes nothing more.
        if (isUrgent) this.#isLeaving = true;
      },
      awaited: [],
    };
    const leave = (): void => this.leave();
    // It fails when the daemon ends, and the page with it.
    this.over = link.run(shown).then(leave, leave);
  }

  get isOpen(): boolean {
    return !this.#isLeaving && this.#link.isConnected;
  }

  /** Null: the chat was cut off before the daemon answered. */
  async say(message: InboundMessage): Promise<Intake | null> {
    this.#saying++;
    try {
      return await this.#link.receive(message);
    } catch (error) {
      const isCut = error instanceof WeirError && error.retryable;
      return isCut ? null : { outcome: "failed", why: errorMessage(error) };
    } finally {
      this.#saying--;
      if (!this.#isLeaving) {
        clearTimeout(this.#rest);
        this.#rest = this.#leaveLater();
      }
    }
  }

  leave(): void {
    this.#isLeaving = true;
    clearTimeout(this.#rest);
    this.#link.leave();
  }

  #leaveLater(): NodeJS.Timeout {
    const look = (): void => {
      if (this.#saying > 0 || this.#isWanted()) this.#rest = this.#leaveLater();
      else this.leave();
    };
    return setTimeout(look, this.#restMs).unref();
  }
}
