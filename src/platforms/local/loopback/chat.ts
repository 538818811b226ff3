import { randomUUID } from "node:crypto";
import { type EventBody, EventQueue } from "./event-queue.ts";
import type { CommandPost, LoopbackAnswer, MessagePost, Reply } from "./protocol.ts";
import { Waiters } from "./waiters.ts";

/** The service keeps everything in memory. */
const MAX_EVENTS = 1_000_000;
const MAX_JOURNAL = 1_000_000;

/** One message of a conversation, as `GET /channels/:channel` shows it. */
export interface ChatMessage {
  readonly id: string;
  readonly from: "person" | "bot";
  readonly author: string;
  readonly at: string;
  text: string;
  /** All its texts, the present one last. */
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
  /** Of the message; null: the call had no effect. */
  readonly id: string | null;
  readonly text: string;
  readonly final: boolean;
  readonly inReplyTo: readonly string[];
  /** `repeated`: the key was known, and the call had no effect. Otherwise the name of a fault, or the reason of a refusal. */
  readonly outcome: string;
}

/** The conversations of the loopback service, in memory. Knows nothing of HTTP. */
export class LoopbackChat {
  readonly events = new EventQueue(
    randomUUID(),
    (event) => event.type === "command" && (this.#answers.get(event.id) ?? null) !== null,
  );
  readonly journal: JournalLine[] = [];
  readonly #now: () => Date;
  readonly #channels = new Map<string, Map<string, ChatMessage>>();
  readonly #replyIdOfKey = new Map<string, string>();
  readonly #answers = new Map<string, LoopbackAnswer | null>();
  readonly #answered = new Waiters();

  constructor(now: () => Date) {
    this.#now = now;
  }

  get isFull(): boolean {
    return this.events.size >= MAX_EVENTS || this.journal.length >= MAX_JOURNAL;
  }

  say(channel: string, post: MessagePost): ChatMessage {
    const id = post.id ?? randomUUID();
    const messages = this.#messages(channel);
    const known = messages.get(id);
    const { author, listen, kind } = post;
    const at = post.at ?? this.#now().toISOString();
    const said = known ?? newMessage({ id, from: "person", author, at, text: post.text });
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
    this.#answered.wake();
    return true;
  }

  /** Null: not answered yet. Undefined: no such command. */
  commandAnswer(id: string): LoopbackAnswer | null | undefined {
    return this.#answers.get(id);
  }

  /** The bot sends a message, once for each key. */
  send(channel: string, key: string, { text, ...reply }: Reply): { id: string; isRepeated: boolean } {
    const known = this.#replyIdOfKey.get(key);
    if (known !== undefined) return { id: known, isRepeated: true };
    const id = randomUUID();
    this.#replyIdOfKey.set(key, id);
    const at = this.#now().toISOString();
    const said = newMessage({ id, from: "bot", author: "bot", at, text });
    this.#messages(channel).set(id, { ...said, reply });
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

  /** Resolves when the next command is answered, after `waitMs`, or when the signal says so. */
  async nextAnswer(waitMs: number, signal: AbortSignal): Promise<void> {
    await this.#answered.wait(waitMs, signal);
  }

  #messages(channel: string): Map<string, ChatMessage> {
    const messages = this.#channels.get(channel) ?? new Map<string, ChatMessage>();
    this.#channels.set(channel, messages);
    return messages;
  }

  #emit(body: EventBody, at: string = this.#now().toISOString()): void {
    this.events.emit(body, at);
  }
}

function newMessage(said: Pick<ChatMessage, "id" | "from" | "author" | "at" | "text">): ChatMessage {
  return { ...said, texts: [said.text], isDeleted: false };
}
