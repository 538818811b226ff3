import {
  type APIModalInteractionResponseCallbackData,
  ApplicationCommandOptionType,
  ApplicationCommandType,
  ComponentType,
  InteractionResponseType,
  InteractionType,
  MessageFlags,
  RESTJSONErrorCodes,
  Routes,
  TextInputStyle,
} from "discord.js";
import type { Logger } from "pino";
import { z } from "zod";
import type { CommandAnswer } from "../../../core/card.ts";
import { errorMessage } from "../../../core/errors.ts";
import { splitText } from "../../../text/split-message.ts";
import {
  type CalledCommand,
  carried,
  commandOfPress,
  formAlone,
  withWords,
} from "../../shared/pressed-command.ts";
import {
  COMMAND_FAILED,
  type CommandForm,
  PlatformError,
  type PlatformCommand,
  type PlatformInbox,
} from "../../platform.ts";
import { type DiscordApi, DiscordRefusal, parsed, PLATFORM_NAME } from "../rest/api.ts";
import { toCard } from "../outbound/card.ts";
import { type Drawn, toBox } from "../outbound/components.ts";
import { toDiscord } from "../outbound/content.ts";
import { type InteractionPayload, interactionPayload } from "./payload.ts";
import type { MessageReader } from "./reader.ts";
import type { Bot } from "../gateway/bot-identity.ts";

interface SlashParts {
  readonly api: DiscordApi;
  readonly inbox: Pick<PlatformInbox, "command">;
  readonly commands: readonly PlatformCommand[];
  readonly reader: MessageReader;
  readonly log: Logger;
}

const ENTRY_POINT: number = ApplicationCommandType.PrimaryEntryPoint;
const ALREADY_ANSWERED: number = RESTJSONErrorCodes.InteractionHasAlreadyBeenAcknowledged;
const COMMAND_CALLED: number = InteractionType.ApplicationCommand;
const BUTTON_PRESSED: number = InteractionType.MessageComponent;
const FORM_SENT: number = InteractionType.ModalSubmit;

/** The compared parts of a command; the others are kept as they are. */
const registeredCommand = z.looseObject({
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

/** The answer to an interaction, as Discord has it. */
const saidAlready = z.object({ flags: z.number().default(0) });

const MAX_PARTS = 10;
const PART_LENGTH = 1900;

/** A command that a person called, whose button a person pressed, or whose form a person sent; its form is opened first. */
type Called = NonNullable<ReturnType<typeof commandOfPress>>;

/** Discord's own commands: registers them, runs them, and answers the asker alone. */
export class SlashCommands {
  readonly #parts: SlashParts;
  readonly #running = new Set<Promise<void>>();
  /** Interactions of the presses among them. */
  readonly #pressed = new Set<string>();
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
      const there = await api.get(route, registeredCommands);
      // It starts the app's activity. Discord refuses a list without it (50240), and sets it up itself.
      const entryPoints = there.filter(({ type }) => type === ENTRY_POINT);
      const wanted = [...commands.map(toRegistered), ...entryPoints];
      const isAsWanted = fingerprint(there) === fingerprint(wanted);
      if (!isAsWanted) await api.call({ method: "PUT", route, body: wanted });
      this.#isRegistered = true;
      if (!isAsWanted) log.info({ platform: PLATFORM_NAME, commands: wanted.length }, "commands_registered");
    } catch (error) {
      log.warn({ platform: PLATFORM_NAME, why: errorMessage(error) }, "commands_not_registered");
    }
  }

  /**
   * Runs an INTERACTION_CREATE's command. Returns at once.
   * @param taken called once the event need not come again: a press that the end of this process cuts off is run by the next
   */
  take(d: unknown, taken: () => void): void {
    const interaction = interactionPayload.parse(d);
    const called = this.#calledBy(interaction);
    if (called === null || this.#pressed.has(interaction.id)) return taken();
    const run = this.#run(interaction, called);
    this.#running.add(run);
    if (isPress(interaction)) this.#pressed.add(interaction.id);
    else taken();
    void run.finally(() => {
      this.#running.delete(run);
      if (this.#pressed.delete(interaction.id)) taken();
    });
  }

  /** Resolves when no answer is pending. */
  async idle(): Promise<void> {
    await Promise.all(this.#running);
  }

  #calledBy({ type, data }: InteractionPayload): Called | null {
    const { commands } = this.#parts;
    if (type === BUTTON_PRESSED || type === FORM_SENT) {
      const called = commandOfPress(data?.custom_id ?? "", commands);
      if (type === BUTTON_PRESSED) return called;
      const words =
        data?.components?.find(({ component }) => component !== undefined)?.component?.value ?? "";
      return called && { ...withWords(called, words), form: null };
    }
    if (type !== COMMAND_CALLED || data?.name === undefined) return null;
    const value = data.options?.[0]?.value;
    const called = { name: data.name, argument: typeof value === "string" ? value.trim() : "" };
    return { ...called, form: formAlone(called, commands) };
  }

  /** Must not throw. */
  async #run(interaction: InteractionPayload, called: Called): Promise<void> {
    const { log } = this.#parts;
    const fields = { channel: `${PLATFORM_NAME}:${interaction.channel_id}`, command: called.name };
    try {
      if (called.form !== null && (await this.#openForm(interaction, called, called.form))) return;
      // A replay repeats a command that was answered already.
      if (!(await this.#defer(interaction)) && !(await this.#isCutOff(interaction))) return;
      await this.#answer(interaction, called, await this.#result(interaction, called));
    } catch (error) {
      log.warn({ ...fields, why: errorMessage(error) }, "command_not_answered");
    }
  }

  /**
   * Call within three seconds: an interaction is answered once, by a form or in words.
   * @returns false: Discord refuses the form, and the command can run as it is
   * @throws PlatformError
   */
  async #openForm(interaction: InteractionPayload, called: Called, form: CommandForm): Promise<boolean> {
    try {
      await this.#respond(interaction, { type: InteractionResponseType.Modal, data: toModal(called, form) });
      return true;
    } catch (error) {
      // Without its words, a button would do something else.
      if (interaction.type !== COMMAND_CALLED || !(error instanceof DiscordRefusal)) throw error;
      this.#parts.log.info({ command: called.name, why: errorMessage(error) }, "form_refused");
      return false;
    }
  }

  /** Call within three seconds. @returns false: already answered */
  async #defer(interaction: InteractionPayload): Promise<boolean> {
    return this.#respond(interaction, {
      type: InteractionResponseType.DeferredChannelMessageWithSource,
      data: { flags: MessageFlags.Ephemeral },
    });
  }

  /** Whether an earlier process has taken a press and said nothing yet. It may have run: what a button does counts once. */
  async #isCutOff(interaction: InteractionPayload): Promise<boolean> {
    if (!isPress(interaction)) return false;
    const { application_id: applicationId, token } = interaction;
    const route = Routes.webhookMessage(applicationId, token, "@original");
    const { api } = this.#parts;
    const { flags } = parsed(saidAlready, await api.call({ method: "GET", route, isAnonymous: true }));
    return (flags & MessageFlags.Loading) !== 0;
  }

  /** @returns false: already answered */
  async #respond({ id, token }: InteractionPayload, body: object): Promise<boolean> {
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
        name: called.name,
        argument: called.argument,
        asker: { id, name, roles, roleNames },
      });
    } catch (error) {
      log.warn({ platform: PLATFORM_NAME, command: called.name, why: errorMessage(error) }, "command_failed");
      return COMMAND_FAILED;
    }
  }

  async #answer(
    interaction: InteractionPayload,
    { name }: CalledCommand,
    answer: CommandAnswer,
  ): Promise<void> {
    const isReport = this.#parts.commands.some((one) => one.name === name && one.isReport === true);
    for (const [index, { drawn, text }] of partsOf(answer, isReport).entries()) {
      const isFirst = index === 0;
      const isDrawn = drawn !== null && (await this.#draw(interaction, drawn, isFirst));
      if (!isDrawn) await this.#write(interaction, text, isFirst);
    }
  }

  /** @returns false: Discord rejects the box, and its text can be written in its place */
  async #draw(interaction: InteractionPayload, drawn: Drawn, isFirst: boolean): Promise<boolean> {
    const body = { ...drawn, flags: drawn.flags | MessageFlags.Ephemeral, allowed_mentions: { parse: [] } };
    try {
      try {
        await this.#put(interaction, body, isFirst);
      } catch (error) {
        // The same again changes nothing. A box that came through would not become a text any more.
        if (!isFirst || !(error instanceof PlatformError) || !error.retryable) throw error;
        await this.#put(interaction, body, isFirst);
      }
      return true;
    } catch (error) {
      const channel = `${PLATFORM_NAME}:${interaction.channel_id}`;
      this.#parts.log.info({ channel, why: errorMessage(error) }, "card_refused");
      return false;
    }
  }

  async #write(interaction: InteractionPayload, text: string, isFirst: boolean): Promise<void> {
    for (const [index, part] of splitText(text, PART_LENGTH).slice(0, MAX_PARTS).entries()) {
      const { content } = toDiscord(part);
      const body = { content, flags: MessageFlags.Ephemeral, allowed_mentions: { parse: [] } };
      await this.#put(interaction, body, isFirst && index === 0);
    }
  }

  /** @param isFirst it takes the place of "is thinking …" */
  async #put(
    { application_id: applicationId, token }: InteractionPayload,
    body: object,
    isFirst: boolean,
  ): Promise<void> {
    const route = isFirst
      ? Routes.webhookMessage(applicationId, token, "@original")
      : Routes.webhook(applicationId, token);
    await this.#parts.api.call({ method: isFirst ? "PATCH" : "POST", route, body, isAnonymous: true });
  }
}

/** A form as Discord's modal. Its id carries the command, as a button does. Pure. */
function toModal(
  { name: command, argument }: CalledCommand,
  { title, label, maxLength }: CommandForm,
): APIModalInteractionResponseCallbackData {
  const text = {
    type: ComponentType.TextInput,
    custom_id: "words",
    style: TextInputStyle.Paragraph,
    required: true,
    max_length: maxLength,
  } as const;
  return {
    custom_id: carried({ command, argument }).slice(0, 100),
    title,
    components: [{ type: ComponentType.Label, label, component: text }],
  };
}

/** A message of an answer: as a box, and as a text for where Discord refuses that. */
interface AnswerPart {
  readonly drawn: Drawn | null;
  readonly text: string;
}

function partsOf(answer: CommandAnswer, isReport: boolean): readonly AnswerPart[] {
  if (typeof answer !== "string") return [{ drawn: toCard(answer), text: answer.text }];
  const text = answer.trim() === "" ? "Done." : answer;
  if (!isReport) return [{ drawn: null, text }];
  return splitText(text, PART_LENGTH)
    .slice(0, MAX_PARTS)
    .map((part) => ({ drawn: toBox(toDiscord(part).content, []), text: part }));
}

/** Of a button, whose command counts once, however often it runs. A form's may not. */
function isPress({ type }: InteractionPayload): boolean {
  return type === BUTTON_PRESSED;
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
