import type { Logger } from "pino";
import { errorMessage } from "../core/errors.ts";
import { formatAddress } from "../core/ids.ts";
import type { MemoryDraft } from "../core/memory.ts";
import type { InboundMessage } from "../core/message.ts";
import type { Asker, InboundCommand } from "../platforms/platform.ts";
import type { ChannelRow } from "../store/channels/channels.ts";
import type { Store } from "../store/store.ts";
import { retryWrite } from "../async/retry.ts";
import type { Notices } from "./notices.ts";

export interface Commands {
  has(name: string): boolean;
  run(command: InboundCommand): Promise<string>;
  /** Whether the message in which a command is typed is kept: it is in the log once the command has run. */
  keepsMessage(name: string): boolean;
  /** The memory that a message bears because its author wants it remembered; null: it bears none. */
  memoryIn(channel: ChannelRow, message: ProvingMessage): MemoryDraft | null;
  /** Whether the operator has named somebody as an owner: they may give commands wherever they are. */
  isNamedOwner(channel: ChannelRow, asker: Asker): boolean;
}

/** What a memory takes from the message that bears it. */
export type ProvingMessage = Pick<InboundMessage, "id" | "author" | "text" | "at">;

interface TextCommandsParts {
  readonly store: Pick<Store, "runCommands">;
  readonly commands: Commands;
  readonly notices: Notices;
  readonly log: Logger;
  readonly failureText: (kind: "internal") => string;
}

/** The answer to a `/stop` that has ended something: what was being written says so itself. */
export const STOPPED = "Stopped.";
const STOP_SIGN = "🛑";
/** `/stop` is exempt from the rate limit: it ends what costs. */
export const UNLIMITED = "stop";

/** Runs the commands that stand in messages, each once: what was missed is looked at again, also after a restart. */
export class TextCommands {
  readonly #parts: TextCommandsParts;

  constructor(parts: TextCommandsParts) {
    this.#parts = parts;
  }

  /** The command in a message; null: there is none. Bots give none: two would run each other's refusals without an end. */
  find({ author, channel, text }: InboundMessage): TextCommand | null {
    const { notices, commands } = this.#parts;
    if (author.isBot) return null;
    return notices.hasTextCommands(channel) ? parseTextCommand(text, (name) => commands.has(name)) : null;
  }

  /**
   * A command is no message of the log, but for one whose message is kept: what comes behind it, as its deletion, finds it
   * there. Its answer comes later.
   * @param isWithinRate counts it; asked once for a command, however often it is delivered. False: it is not run
   * @returns false: there is none in it
   * @throws WeirError if it cannot be noted as run: it was not
   */
  async run(message: InboundMessage, isWithinRate: () => boolean): Promise<boolean> {
    const { store } = this.#parts;
    const command = this.find(message);
    if (command === null) return false;
    const claim = store.runCommands.newClaim();
    const { platform } = message.channel;
    const { result: isOurs } = await retryWrite(async () =>
      store.runCommands.claim(platform, message.id, claim),
    );
    const mayRun = isOurs && (command.name === UNLIMITED || isWithinRate());
    const answering = mayRun ? this.#answer(message, command) : null;
    if (this.#parts.commands.keepsMessage(command.name)) await answering;
    return true;
  }

  /** Must not throw. */
  async #answer(message: InboundMessage, command: TextCommand): Promise<void> {
    const { channel, author, id, text, at } = message;
    const { notices, commands, log, failureText } = this.#parts;
    const { name, roles = [], roleNames = [] } = author;
    const asker = { id: author.id, name, roles, roleNames };
    try {
      const answer = await commands.run({ channel, ...command, asker, said: { id, text, at } });
      notices.answer(channel, message, answer, answer === STOPPED ? STOP_SIGN : null);
    } catch (error) {
      log.warn({ channel: formatAddress(channel), why: errorMessage(error) }, "command_failed");
      notices.answer(channel, message, failureText("internal"), null);
    }
  }
}

/** A command that somebody typed into a message, behind a mention or alone. */
interface TextCommand {
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
