import { randomUUID } from "node:crypto";

import {
  ApplicationCommandOptionType,
  ApplicationCommandType,
  ComponentType,
  InteractionType,
  PermissionFlagsBits,
  type APIEmbed,
} from "discord.js";

import { buttonsIn, wordsIn } from "./components.ts";
import { toMessage } from "./message-payload.ts";
import { toChannel, toFullMember, toUser } from "./payloads.ts";
import type { ChannelRecord, CommandRecord, InteractionRecord, MessageRecord } from "./records.ts";
import type { State } from "./state.ts";

/** Values by option name; a sub-command's options are nested under its name. */
export interface CommandOptions {
  readonly [name: string]: string | number | boolean | CommandOptions;
}

/** One answer to a command as the person sees it. */
export interface CommandAnswer {
  readonly id: string;
  readonly text: string;
  readonly embeds: readonly APIEmbed[];
  readonly isEphemeral: boolean;
  /** Deferred, without a text yet. */
  readonly isLoading: boolean;
}

/** Sends INTERACTION_CREATE for a called command. @throws Error if it is not registered */
export function invokeCommand(
  state: State,
  call: { userId: string; channel: ChannelRecord; name: string; options: CommandOptions },
): InteractionRecord {
  const { channel, userId, name } = call;
  const registered = findCommand(state, channel.guildId, name);
  if (registered === undefined) throw new Error(`The bot registered no command /${name} here.`);
  return interact(state, { channel, userId, name }, InteractionType.ApplicationCommand, {
    data: {
      id: registered.command.id,
      name,
      type: ApplicationCommandType.ChatInput,
      ...(registered.guildId === null ? {} : { guild_id: registered.guildId }),
      options: toOptions(call.options, registered.command.options ?? []),
    },
  });
}

/** Sends INTERACTION_CREATE for a press on the button with this label. @throws Error if the message has none */
export function pressButton(
  state: State,
  press: { userId: string; channel: ChannelRecord; message: MessageRecord; label: string },
): InteractionRecord {
  const { channel, userId, message, label } = press;
  const buttons = buttonsIn(message);
  const button = buttons.find((one) => one.label === label);
  if (button === undefined)
    throw new Error(`That message has the buttons ${buttons.map((one) => one.label).join(", ")}.`);
  return sendPress(state, { channel, userId, message, customId: button.custom_id });
}

/** The same for a former button of the message: a client that has not seen the edit still shows it. */
export function sendPress(
  state: State,
  press: { userId: string; channel: ChannelRecord; message: MessageRecord; customId: string },
): InteractionRecord {
  const { channel, userId, message, customId } = press;
  return interact(state, { channel, userId, name: customId }, InteractionType.MessageComponent, {
    data: { id: 2, component_type: ComponentType.Button, custom_id: customId },
    message: toMessage(state, message, true),
  });
}

/** A person fills in the form that an interaction has opened, and sends it. @throws Error if it opened none */
export function sendModal(state: State, interactionId: string, words: string): InteractionRecord {
  const opened = state.interactions.get(interactionId);
  if (opened?.modal == null) throw new Error("That interaction has opened no form.");
  const { customId, field, maxLength } = opened.modal;
  if (words.length > maxLength) throw new Error(`The form takes ${maxLength} characters.`);
  const text = { type: ComponentType.TextInput, id: 2, custom_id: field, value: words };
  const channel = state.channel(opened.channelId);
  return interact(state, { channel, userId: opened.userId, name: customId }, InteractionType.ModalSubmit, {
    data: { custom_id: customId, components: [{ type: ComponentType.Label, id: 1, component: text }] },
  });
}

function interact(
  state: State,
  who: { readonly channel: ChannelRecord; readonly userId: string; readonly name: string },
  type: InteractionType,
  what: object,
): InteractionRecord {
  const { channel, userId, name: commandName } = who;
  const interaction: InteractionRecord = {
    id: state.ids.next(),
    token: randomUUID(),
    channelId: channel.id,
    userId,
    commandName,
    createdAt: performance.now(),
    acknowledgedBy: null,
    modal: null,
    originalId: null,
    messageIds: [],
  };
  state.interactions.set(interaction.id, interaction);
  const data = {
    id: interaction.id,
    application_id: state.bot.id,
    type,
    token: interaction.token,
    version: 1,
    ...what,
    channel_id: channel.id,
    channel: toChannel(state, channel),
    ...whoAndWhere(state, channel, userId),
    locale: "en-US",
    app_permissions: String(PermissionFlagsBits.SendMessages),
    entitlements: [],
    authorizing_integration_owners: {},
    attachment_size_limit: 10_485_760,
  };
  state.emit({ t: "INTERACTION_CREATE", intent: 0, data: () => data });
  return interaction;
}

export function answersTo(state: State, interactionId: string): CommandAnswer[] {
  const interaction = state.interactions.get(interactionId);
  if (interaction === undefined) throw new Error(`The test's world has no interaction ${interactionId}.`);
  return interaction.messageIds.flatMap((id) => {
    const message = state.messages.get(id);
    if (message === undefined) return [];
    const { embeds, isEphemeral, isLoading } = message;
    return [{ id, text: wordsIn(message), embeds, isEphemeral, isLoading }];
  });
}

/** A guild's own command precedes a global one of the same name. */
function findCommand(state: State, guildId: string | null, name: string): CommandRecord | undefined {
  const named = [...state.commands.values()].filter(({ command }) => command.name === name);
  return (
    named.find((record) => guildId !== null && record.guildId === guildId) ??
    named.find((record) => record.guildId === null)
  );
}

function whoAndWhere(state: State, channel: ChannelRecord, userId: string): object {
  if (channel.guildId === null) return { context: 1, user: toUser(state.user(userId)) };
  const member = state.guild(channel.guildId).members.get(userId);
  return {
    context: 0,
    guild_id: channel.guildId,
    guild: { id: channel.guildId, features: [], locale: "en-US" },
    guild_locale: "en-US",
    ...(member === undefined
      ? {}
      : {
          member: { ...toFullMember(state, member), permissions: String(PermissionFlagsBits.SendMessages) },
        }),
  };
}

interface OptionDefinition {
  readonly name: string;
  readonly type: ApplicationCommandOptionType;
  readonly options?: readonly OptionDefinition[];
}

/** An option's type is the registered one, else that of the value. */
function toOptions(options: CommandOptions, definitions: readonly OptionDefinition[]): object[] {
  return Object.entries(options).map(([name, value]) => {
    const definition = definitions.find((each) => each.name === name);
    if (typeof value === "object") {
      const type = definition?.type ?? ApplicationCommandOptionType.Subcommand;
      return { name, type, options: toOptions(value, definition?.options ?? []) };
    }
    return { name, type: definition?.type ?? typeOf(value), value };
  });
}

function typeOf(value: string | number | boolean): ApplicationCommandOptionType {
  if (typeof value === "boolean") return ApplicationCommandOptionType.Boolean;
  if (typeof value === "string") return ApplicationCommandOptionType.String;
  return Number.isInteger(value) ? ApplicationCommandOptionType.Integer : ApplicationCommandOptionType.Number;
}
