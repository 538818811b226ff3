import {
  ApplicationCommandOptionType,
  ApplicationCommandType,
  InteractionResponseType,
  InteractionType,
  MessageFlags,
  RESTJSONErrorCodes,
  Routes,
} from "discord.js";
import type { Logger } from "pino";
import { z } from "zod";
import { answerText, type Card, type CommandAnswer } from "../../../core/card.ts";
import { errorMessage } from "../../../core/errors.ts";
import { splitText } from "../../../text/split-message.ts";
import { commandOfPress } from "../../shared/pressed-command.ts";
import { COMMAND_FAILED, PlatformError, type PlatformCommand, type PlatformInbox } from "../../platform.ts";
import { type DiscordApi, DiscordRefusal, PLATFORM_NAME } from "../rest/api.ts";
import { assertDrawn, toEmbed } from "../outbound/card.ts";
import { toDiscord } from "../outbound/content.ts";
import { type InteractionPayload, interactionPayload } from "./payload.ts";
import type { MessageReader } from "./reader.ts";
import type { Bot } from "../gateway/bot-identity.ts";

export interface SlashParts {
  readonly api: DiscordApi;
  readonly inbox: Pick<PlatformInbox, "command">;
  readonly commands: readonly PlatformCommand[];
  readonly reader: MessageReader;
  readonly log: Logger;
}

const ALREADY_ANSWERED: number = RESTJSONErrorCodes.InteractionHasAlreadyBeenAcknowledged;
const COMMAND_CALLED: number = InteractionType.ApplicationCommand;
const BUTTON_PRESSED: number = InteractionType.MessageComponent;

/** The compared parts of a command. */
const registeredCommand = z.object({
  type: z.number().optional(),
  name: z.string(),
  description: z.string(),
  options: z
    .array(
      z.object({
        type: z.number(),
        name: z.string(),
        description: z.string(),
        required: z.boolean().optional(),
      }),
    )
    .optional(),
});
type RegisteredCommand = z.infer<typeof registeredCommand>;
const registeredCommands = z.array(registeredCommand);

const MAX_PARTS = 10;
const PART_LENGTH = 1900;

/** A command that a person called, or whose button a person pressed. */
interface Called {
  readonly name: string;
  readonly argument: string;
}

/** Discord's own commands: registers them, runs them, and answers the asker alone. */
export class SlashCommands {
  readonly #parts: SlashParts;
  readonly #running = new Set<Promise<void>>();
  #isRegistered = false;

  constructor(parts: SlashParts) {
    this.#parts = parts;
  }

  /** Updates the registered commands if they differ. Does not throw; retried at the next connection. */
  async register({ applicationId }: Bot): Promise<void> {
    const { api, commands, log } = this.#parts;
    if (this.#isRegistered) return;
    try {
      const route = Routes.applicationCommands(applicationId);
      const wanted = commands.map(toRegistered);
      const there = await api.get(route, registeredCommands);
      const isAsWanted = fingerprint(there) === fingerprint(wanted);
      if (!isAsWanted) await api.call({ method: "PUT", route, body: wanted });
      this.#isRegistered = true;
      if (!isAsWanted) log.info({ platform: PLATFORM_NAME, commands: wanted.length }, "commands_registered");
    } catch (error) {
      log.warn({ platform: PLATFORM_NAME, why: errorMessage(error) }, "commands_not_registered");
    }
  }

  /** Runs an INTERACTION_CREATE's command. Returns at once. */
  take(d: unknown): void {
    const interaction = interactionPayload.parse(d);
    const called = this.#calledBy(interaction);
    if (called === null) return;
    const run = this.#run(interaction, called);
    this.#running.add(run);
    void run.finally(() => this.#running.delete(run));
  }

  /** Resolves when no answer is pending. */
  async idle(): Promise<void> {
    await Promise.all(this.#running);
  }

  #calledBy({ type, data }: InteractionPayload): Called | null {
    if (type === BUTTON_PRESSED) return commandOfPress(data?.custom_id ?? "", this.#parts.commands);
    if (type !== COMMAND_CALLED || data?.name === undefined) return null;
    const value = data.options?.[0]?.value;
    return { name: data.name, argument: typeof value === "string" ? value.trim() : "" };
  }

  /** Must not throw. */
  async #run(interaction: InteractionPayload, called: Called): Promise<void> {
    const { log } = this.#parts;
    const fields = { channel: `${PLATFORM_NAME}:${interaction.channel_id}`, command: called.name };
    try {
      // A replay repeats a command that was answered already.
      if (!(await this.#defer(interaction))) return;
      await this.#answer(interaction, await this.#result(interaction, called));
    } catch (error) {
      log.warn({ ...fields, why: errorMessage(error) }, "command_not_answered");
    }
  }

  /** Call within three seconds. @returns false: already answered */
  async #defer({ id, token }: InteractionPayload): Promise<boolean> {
    const body = {
      type: InteractionResponseType.DeferredChannelMessageWithSource,
      data: { flags: MessageFlags.Ephemeral },
    };
    const route = Routes.interactionCallback(id, token);
    const acknowledge = async (): Promise<unknown> =>
      this.#parts.api.call({ method: "POST", route, body, isAnonymous: true });
    try {
      await acknowledge();
      return true;
    } catch (error) {
      if (error instanceof DiscordRefusal) {
        if (error.code === ALREADY_ANSWERED) return false;
        throw error;
      }
      if (!(error instanceof PlatformError) || !error.retryable) throw error;
    }
    try {
      await acknowledge();
    } catch (error) {
      // The first attempt succeeded; only its answer was lost.
      const isTaken = error instanceof DiscordRefusal && error.code === ALREADY_ANSWERED;
      if (!isTaken) throw error;
    }
    return true;
  }

  async #result(interaction: InteractionPayload, called: Called): Promise<CommandAnswer> {
    const { inbox, reader, log } = this.#parts;
    const { member, guild_id: guildId, channel_id: channelId = "" } = interaction;
    const user = member?.user ?? interaction.user;
    if (user === undefined) return COMMAND_FAILED;
    const { id, name, roles = [], roleNames = [] } = reader.person(user, member, guildId);
    try {
      return await inbox.command({
        channel: { platform: PLATFORM_NAME, name: channelId },
        ...called,
        asker: { id, name, roles, roleNames },
      });
    } catch (error) {
      log.warn({ platform: PLATFORM_NAME, command: called.name, why: errorMessage(error) }, "command_failed");
      return COMMAND_FAILED;
    }
  }

  async #answer(interaction: InteractionPayload, answer: CommandAnswer): Promise<void> {
    const isDrawn = typeof answer !== "string" && (await this.#draw(interaction, answer));
    if (!isDrawn) await this.#write(interaction, answerText(answer));
  }

  /** @returns false: Discord rejects or does not show the card */
  async #draw(
    { application_id: applicationId, token, channel_id: channel }: InteractionPayload,
    card: Card,
  ): Promise<boolean> {
    const { api, log } = this.#parts;
    const { content } = toDiscord(card.summary);
    const body = {
      content,
      embeds: [toEmbed(card)],
      flags: MessageFlags.Ephemeral,
      allowed_mentions: { parse: [] },
    };
    const route = Routes.webhookMessage(applicationId, token, "@original");
    try {
      assertDrawn(await api.call({ method: "PATCH", route, body, isAnonymous: true }));
      return true;
    } catch (error) {
      // The text replaces the card in the same message, so nothing is shown twice, whatever became of the card.
      log.info({ channel: `${PLATFORM_NAME}:${channel}`, why: errorMessage(error) }, "card_refused");
      return false;
    }
  }

  async #write({ application_id: applicationId, token }: InteractionPayload, text: string): Promise<void> {
    const { api } = this.#parts;
    const parts = splitText(text.trim() === "" ? "Done." : text, PART_LENGTH).slice(0, MAX_PARTS);
    for (const [index, part] of parts.entries()) {
      const { content } = toDiscord(part);
      const isFirst = index === 0;
      const body = {
        content,
        // A card whose confirmation was lost may be there.
        ...(isFirst && { embeds: [] }),
        flags: MessageFlags.Ephemeral,
        allowed_mentions: { parse: [] },
      };
      const route = isFirst
        ? Routes.webhookMessage(applicationId, token, "@original")
        : Routes.webhook(applicationId, token);
      await api.call({ method: isFirst ? "PATCH" : "POST", route, body, isAnonymous: true });
    }
  }
}

function toRegistered({ name, help, argument }: PlatformCommand): RegisteredCommand {
  const option = argument && {
    type: ApplicationCommandOptionType.String,
    name: argument.name,
    // The description is the only place where Discord shows the form.
    description: `${argument.form}: ${argument.help}`.slice(0, 100),
    required: false,
  };
  return {
    type: ApplicationCommandType.ChatInput,
    name,
    description: help.slice(0, 100),
    ...(option !== null && { options: [option] }),
  };
}

/** Equal for equal commands, regardless of order and of Discord's additions. */
function fingerprint(commands: readonly RegisteredCommand[]): string {
  const lines = commands.map(({ type = 1, name, description, options = [] }) =>
    JSON.stringify([
      type,
      name,
      description,
      options.map((option) => [option.type, option.name, option.description, option.required ?? false]),
    ]),
  );
  return lines.toSorted().join("\n");
}
