import type { Logger } from "pino";
import type { CommandAnswer } from "../core/card.ts";
import { errorMessage } from "../core/errors.ts";
import { formatAddress } from "../core/ids.ts";
import type { MemoryDraft } from "../core/memory.ts";
import type { InboundMessage } from "../core/message.ts";
import { type Asker, ANSWERED, type InboundCommand, STOPPED } from "../platforms/platform.ts";
import type { ChannelRow } from "../store/channels/channels.ts";
import type { Store } from "../store/store.ts";
import { retryWrite } from "../async/retry.ts";
import type { Notices } from "./notices.ts";

export interface Commands {
  has(name: string): boolean;
  run(command: InboundCommand): Promise<CommandAnswer>;
  /** The command that a person gives by a plain message; null: the message is none. */
  commandIn(message: Pick<InboundMessage, "channel" | "author" | "text">): Promise<TextCommand | null>;
  /** Whether a command's message is kept: the log has the message once the command has run. */
  keepsMessage(name: string): boolean;
  /** The memory that the author of a message asks to keep; null: the message asks for no memory. */
  memoryIn(channel: ChannelRow, message: ProvingMessage): MemoryDraft | null;
  /**
   * Whether the operator has configured the asker for a command, apart from the people who are answered in the channel: owners
   * for all commands, and others for commands for which they are named.
   */
  isNamedFor(name: string, channel: ChannelRow, asker: Asker): boolean;
}

/** The parts of a message that a memory uses. */
export type ProvingMessage = Pick<InboundMessage, "id" | "author" | "text" | "at">;

interface TextCommandsParts {
  readonly store: Pick<Store, "runCommands">;
  readonly commands: Commands;
  readonly notices: Notices;
  readonly log: Logger;
  readonly failureText: (kind: "internal") => string;
}

/** Emoji that replace an answer in a channel. */
const SIGNS: ReadonlyMap<CommandAnswer, string> = new Map([
  [STOPPED, "🛑"],
  [ANSWERED, "✅"],
]);
/** `/stop` is exempt from the rate limit: it ends costs. */
export const UNLIMITED = "stop";

/** Runs the commands in messages, each once: missed messages are read again, also after a restart. */
export class TextCommands {
  readonly #parts: TextCommandsParts;

  constructor(parts: TextCommandsParts) {
    this.#parts = parts;
  }

  /** The command in a message, or null, by its words or by what it answers. @throws WeirError if the database does not answer */
  async findMeant(message: InboundMessage): Promise<TextCommand | null> {
    const found = this.find(message);
    return found !== null || message.author.isBot ? found : this.#parts.commands.commandIn(message);
  }

  /** The command in a message, or null. Bots' messages have no commands: two bots would run each other's refusals without end. */
  find({ author, channel, text }: InboundMessage): TextCommand | null {
    const { notices, commands } = this.#parts;
    if (author.isBot) return null;
    return notices.hasTextCommands(channel) ? parseTextCommand(text, (name) => commands.has(name)) : null;
  }

  /**
   * Runs a command. Commands are not in the log, unless their message is kept: a later event, such as its deletion, then finds
   * it there. The answer comes later.
   * @param isWithinRate counts the command; called once, however often the command is delivered. False: do not run it
   * @param command the result of {@link find} for the message
   * @throws WeirError if the command cannot be noted as run; it did not run
   */
  async run(message: InboundMessage, command: TextCommand, isWithinRate: () => boolean): Promise<void> {
    const { store } = this.#parts;
    const claim = store.runCommands.newClaim();
    const { platform } = message.channel;
    const { result: isOurs } = await retryWrite(async () =>
      store.runCommands.claim(platform, message.id, claim),
    );
    const mayRun = isOurs && (command.name === UNLIMITED || isWithinRate());
    const answering = mayRun ? this.#answer(message, command) : null;
    if (this.#parts.commands.keepsMessage(command.name)) await answering;
  }

  /** Must not throw. */
  async #answer(message: InboundMessage, command: TextCommand): Promise<void> {
    const { channel, author, id, text, at, kind, workspace } = message;
    const { notices, commands, log, failureText } = this.#parts;
    const { name, roles = [], roleNames = [] } = author;
    const asker = { id: author.id, name, roles, roleNames };
    const where = { channel, kind, workspace };
    try {
      const answer = await commands.run({ channel, ...command, asker, said: { id, text, at }, where });
      notices.answer(channel, message, answer, SIGNS.get(answer) ?? null);
    } catch (error) {
      log.warn({ channel: formatAddress(channel), why: errorMessage(error) }, "command_failed");
      notices.answer(channel, message, failureText("internal"), null);
    }
  }
}

/** A command typed into a message, after a mention or alone. */
export interface TextCommand {
  /** Without the slash. */
  readonly name: string;
  readonly argument: string;
}

/**
 * `@weir /context list` → context, "list". A text of several lines is no command, and neither is a path.
 * @param known whether there is a command of this name
 */
export function parseTextCommand(text: string, known: (name: string) => boolean): TextCommand | null {
  const match = /^(?:@[^\s,:]+[\s,:]+)?\/([a-z]{1,32})(?:[ \t]+(\S.*))?$/i.exec(text.trim());
  const name = match?.[1]?.toLowerCase() ?? "";
  return match === null || !known(name) ? null : { name, argument: match[2]?.trim() ?? "" };
}
