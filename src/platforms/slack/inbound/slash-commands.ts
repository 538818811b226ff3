import type { Logger } from "pino";
import { errorMessage } from "../../../core/errors.ts";
import { splitText } from "../../../text/split-message.ts";
import { withDeadline } from "../../../async/deadline.ts";
import type { PlatformCommand, PlatformInbox } from "../../platform.ts";
import { PLATFORM_NAME } from "../address.ts";
import { fitMrkdwn } from "../outbound/mrkdwn.ts";
import type { SlashCommand } from "./payload.ts";
import { MAX_POST_LENGTH } from "../outbound/poster.ts";
import type { MessageReader } from "./reader.ts";

export interface CommandsParts {
  readonly inbox: Pick<PlatformInbox, "command">;
  readonly commands: readonly PlatformCommand[];
  readonly reader: Pick<MessageReader, "person">;
  readonly log: Logger;
  readonly ackMs: number;
  readonly callMs: number;
}

/** Acknowledges a command, with or without a text that only the asker sees. */
export type Acknowledge = (answer?: { response_type: "ephemeral"; text: string }) => Promise<void>;

const PART_LENGTH = 3000;
/** Slack accepts five posts per command. */
const MAX_PARTS = 5;

/** `/weir status`: runs the command and answers the asker alone. */
export class SlashCommands {
  readonly #parts: CommandsParts;
  /** Pending answers. */
  readonly #underWay = new Set<Promise<void>>();

  constructor(parts: CommandsParts) {
    this.#parts = parts;
  }

  /**
   * Resolves once the command is acknowledged, which Slack wants within 3 s; the answer may come later.
   * @throws if the acknowledgement does not reach Slack
   */
  async run(command: SlashCommand, acknowledge: Acknowledge): Promise<void> {
    const answering = this.#answer(command);
    const early = await withDeadline(answering, this.#parts.ackMs);
    const [first, ...rest] = early ?? [];
    await acknowledge(first === undefined ? undefined : { response_type: "ephemeral", text: first });
    const posting = this.#post(command, early === null ? answering : Promise.resolve(rest));
    this.#underWay.add(posting);
    void posting.finally(() => this.#underWay.delete(posting));
  }

  /** Resolves when every answer is sent or has failed. */
  async idle(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  /** Does not throw. */
  async #answer(command: SlashCommand): Promise<readonly string[]> {
    const { inbox, reader, log, commands } = this.#parts;
    const { name, argument } = parseSlashText(command.text ?? "", commands);
    try {
      const { name: asker, roleNames = [] } = await reader.person(command.user_id);
      const text = await inbox.command({
        channel: { platform: PLATFORM_NAME, name: command.channel_id },
        name,
        argument,
        asker: { id: command.user_id, name: asker, roles: [], roleNames },
      });
      return partsOf(text);
    } catch (error) {
      log.warn({ platform: PLATFORM_NAME, command: name, why: errorMessage(error) }, "command_failed");
      return [`/weir ${name} did not work just now. Please try again.`];
    }
  }

  /** Must not throw: nobody awaits it. */
  async #post(command: SlashCommand, texts: Promise<readonly string[]>): Promise<void> {
    try {
      for (const text of await texts) await this.#respond(command.response_url, text);
    } catch (error) {
      this.#parts.log.warn({ platform: PLATFORM_NAME, why: errorMessage(error) }, "command_answer_not_sent");
    }
  }

  async #respond(url: string, text: string): Promise<void> {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ response_type: "ephemeral", replace_original: false, text }),
      redirect: "error",
      signal: AbortSignal.timeout(this.#parts.callMs),
    });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`Slack answered a response_url with ${response.status}`);
  }
}

/** `context detail summaries` → context, "detail summaries"; no text: help. Pure. */
function parseSlashText(
  text: string,
  commands: readonly PlatformCommand[],
): { readonly name: string; readonly argument: string } {
  const [, word = "", argument = ""] = /^\s*\/?(\S*)\s*([^]*)$/.exec(text) ?? [];
  const name = word.toLowerCase();
  const known = commands.find((command) => command.name === name);
  if (name === "") return { name: "help", argument: "" };
  return { name: known?.name ?? name, argument: argument.trim() };
}

function partsOf(text: string): readonly string[] {
  const parts = splitText(text, PART_LENGTH).map((part) => fitMrkdwn(part, new Map(), MAX_POST_LENGTH));
  if (parts.length <= MAX_PARTS) return parts;
  return [...parts.slice(0, MAX_PARTS - 1), "… the rest of this answer is too long for Slack."];
}
