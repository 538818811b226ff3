import { randomUUID } from "node:crypto";
import type {
  CommandPost,
  EventPage,
  LoopbackAnswer,
  LoopbackEvent,
  MessagePost,
  Reply,
} from "./protocol.ts";

/** The service keeps everything in memory, so there is an end to it. */
const MAX_EVENTS = 1_000_000;
const MAX_JOURNAL = 1_000_000;
const MAX_PAGE_EVENTS = 500;
const MAX_PAGE_TEXT = 8 * 1024 * 1024;

/** One message of a conversation, as `GET /channels/:channel` shows it. */
export interface ChatMessage {
  readonly id: string;
  readonly from: "person" | "bot";
  readonly author: string;
  readonly at: string;
  text: string;
  /** Every text that it had, the present one last. */
  readonly texts: string[];
  isDeleted: boolean;
  /** Of the bot's messages only. */
  reply?: Omit<Reply, "text">;
}

/** One call of the bot's, as `GET /journal` shows it. */
export interface JournalLine {
  readonly at: string;
  readonly operation: "send" | "edit";
  readonly channel: string;
  readonly idempotencyKey: string | null;
  /** Of the message; null if nothing was done. */
  readonly id: string | null;
  readonly text: string;
  readonly final: boolean;
  readonly inReplyTo: readonly string[];
  /** `repeated`: the key was known, nothing was done. Otherwise the name of a fault, or why it was refused. */
  readonly outcome: string;
}

type EventBody = LoopbackEvent extends infer Event
  ? Event extends unknown
    ? Omit<Event, "number" | "at">
    : never
  : never;

/** The conversations of the loopback service, in memory. Knows nothing of HTTP. */
export class LoopbackChat {
  readonly server = randomUUID();
  readonly journal: JournalLine[] = [];
  readonly #now: () => Date;
  readonly #channels = new Map<string, Map<string, ChatMessage>>();
  readonly #events: LoopbackEvent[] = [];
  readonly #replyIdOfKey = new Map<string, string>();
  readonly #answers = new Map<string, LoopbackAnswer | null>();
  readonly #eventWaiters = new Set<() => void>();
  readonly #answerWaiters = new Set<() => void>();
  /** The last event of which a client has said, by asking for what comes after it, that it is in safe hands. */
  #acknowledged = 0;

  constructor(now: () => Date) {
    this.#now = now;
  }

  get isFull(): boolean {
    return this.#events.length >= MAX_EVENTS || this.journal.length >= MAX_JOURNAL;
  }

  say(channel: string, post: MessagePost): ChatMessage {
    const id = post.id ?? randomUUID();
    const messages = this.#messages(channel);
    const known = messages.get(id);
    const { author, listen, kind } = post;
    const at = post.at ?? this.#now().toISOString();
    const said: ChatMessage = known ?? {
      id,
      from: "person",
      author,
      at,
      text: post.text,
      texts: [post.text],
      isDeleted: false,
    };
    messages.set(id, said);
    this.#emit({ type: "message", channel, id, author: said.author, text: said.text, listen, kind }, said.at);
    return said;
  }

  /** @returns null if there is no such message */
  edit(channel: string, id: string, text: string): ChatMessage | null {
    const said = this.find(channel, id, "person");
    if (said === null) return null;
    said.text = text;
    said.texts.push(text);
    this.#emit({ type: "edit", channel, id, text });
    return said;
  }

  /** @returns null if there is no such message */
  delete(channel: string, id: string): ChatMessage | null {
    const said = this.find(channel, id, "person");
    if (said === null) return null;
    said.text = "";
    said.texts.length = 0;
    said.isDeleted = true;
    this.#emit({ type: "deletion", channel, id });
    return said;
  }

  /** @returns the command's id */
  command(channel: string, post: CommandPost): string {
    const id = randomUUID();
    this.#answers.set(id, null);
    this.#emit({ type: "command", channel, id, ...post });
    return id;
  }

  /** @returns false if there is no such command */
  answerCommand(id: string, answer: LoopbackAnswer): boolean {
    if (!this.#answers.has(id)) return false;
    this.#answers.set(id, answer);
    wake(this.#answerWaiters);
    return true;
  }

  /** Null: not answered yet. Undefined: no such command. */
  commandAnswer(id: string): LoopbackAnswer | null | undefined {
    return this.#answers.get(id);
  }

  /** The bot sends a message: once a key. */
  send(channel: string, key: string, { text, ...reply }: Reply): { id: string; isRepeated: boolean } {
    const known = this.#replyIdOfKey.get(key);
    if (known !== undefined) return { id: known, isRepeated: true };
    const id = randomUUID();
    this.#replyIdOfKey.set(key, id);
    const at = this.#now().toISOString();
    const said: ChatMessage = {
      id,
      from: "bot",
      author: "bot",
      at,
      text,
      texts: [text],
      isDeleted: false,
      reply,
    };
    this.#messages(channel).set(id, said);
    return { id, isRepeated: false };
  }

  /** The bot replaces the text of its message. @returns null if there is no such message */
  revise(channel: string, id: string, { text, ...reply }: Reply): ChatMessage | null {
    const said = this.find(channel, id, "bot");
    if (said === null) return null;
    said.text = text;
    said.texts.push(text);
    said.reply = reply;
    return said;
  }

  find(channel: string, id: string, from: ChatMessage["from"]): ChatMessage | null {
    const said = this.#channels.get(channel)?.get(id);
    return said === undefined || said.from !== from || said.isDeleted ? null : said;
  }

  conversation(channel: string): ChatMessage[] {
    return [...(this.#channels.get(channel)?.values() ?? [])];
  }

  record(line: Omit<JournalLine, "at">): void {
    this.journal.push({ at: this.#now().toISOString(), ...line });
  }

  /**
   * The events after `after`, which acknowledges those before; without it, after the last one acknowledged. A
   * command that was answered is not delivered again.
   */
  page(after: number | undefined): EventPage {
    if (after !== undefined)
      this.#acknowledged = Math.max(this.#acknowledged, Math.min(after, this.#events.length));
    const events: LoopbackEvent[] = [];
    let size = 0;
    for (let index = after ?? this.#acknowledged; index < this.#events.length; index += 1) {
      const event = this.#events[index];
      if (event === undefined || events.length >= MAX_PAGE_EVENTS || size > MAX_PAGE_TEXT) break;
      if (event.type === "command" && (this.#answers.get(event.id) ?? null) !== null) continue;
      size += "text" in event ? event.text.length : 0;
      events.push(event);
    }
    return { server: this.server, events };
  }

  /** Resolves at the next event, after `waitMs`, or when the signal says so. */
  async nextEvent(waitMs: number, signal: AbortSignal): Promise<void> {
    await waitIn(this.#eventWaiters, waitMs, signal);
  }

  /** Resolves when the next command is answered, after `waitMs`, or when the signal says so. */
  async nextAnswer(waitMs: number, signal: AbortSignal): Promise<void> {
    await waitIn(this.#answerWaiters, waitMs, signal);
  }

  #messages(channel: string): Map<string, ChatMessage> {
    let messages = this.#channels.get(channel);
    if (messages === undefined) {
      messages = new Map();
      this.#channels.set(channel, messages);
    }
    return messages;
  }

  #emit(body: EventBody, at: string = this.#now().toISOString()): void {
    this.#events.push({ ...body, at, number: this.#events.length + 1 });
    wake(this.#eventWaiters);
  }
}

function wake(waiters: ReadonlySet<() => void>): void {
  for (const done of waiters) done();
}

async function waitIn(waiters: Set<() => void>, waitMs: number, signal: AbortSignal): Promise<void> {
  if (waitMs <= 0 || signal.aborted) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      waiters.delete(done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, waitMs);
    waiters.add(done);
    signal.addEventListener("abort", done);
  });
}
