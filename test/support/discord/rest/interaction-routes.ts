import { ComponentType, InteractionResponseType, MessageFlags, TextInputStyle } from "discord.js";
import { z } from "zod";

import { toMessage } from "../message-payload.ts";
import { deleteMessages, editMessage, postMessage } from "../messages.ts";
import type { InteractionRecord, MessageRecord, ModalRecord } from "../records.ts";
import type { State } from "../state.ts";
import {
  alreadyAcknowledged,
  invalidWebhookToken,
  unknownInteraction,
  unknownMessage,
  unknownWebhook,
} from "./api-error.ts";
import {
  permittedEmbeds,
  readMessageBody,
  refuseEmpty,
  refuseTextInBox,
  storeUploads,
  type MessageBody,
} from "./message-body.ts";
import { noContent, ok, param, parseBody, type RestAnswer, type RestCall, type Route } from "./route.ts";

const callbackBody = z.looseObject({ type: z.enum(InteractionResponseType), data: z.unknown() });

const WEBHOOK = "/webhooks/:application/:token";
const ANSWER = `${WEBHOOK}/messages/:message`;

export const interactionRoutes: readonly Route[] = [
  {
    method: "POST",
    pattern: "/interactions/:interaction/:token/callback",
    needsNoToken: true,
    handle: callback,
  },
  { method: "POST", pattern: WEBHOOK, needsNoToken: true, handle: followUp },
  { method: "GET", pattern: ANSWER, needsNoToken: true, handle: get },
  { method: "PATCH", pattern: ANSWER, needsNoToken: true, handle: edit },
  { method: "DELETE", pattern: ANSWER, needsNoToken: true, handle: remove },
];

/** The first answer, which must come in time and only once. */
function callback(call: RestCall): RestAnswer {
  const { state } = call;
  const interaction = state.interactions.get(param(call, "interaction"));
  if (interaction === undefined || interaction.token !== param(call, "token")) throw unknownInteraction();
  if (interaction.acknowledgedBy !== null) throw alreadyAcknowledged();
  if (performance.now() - interaction.createdAt > state.options.interactionAckMs) throw unknownInteraction();
  const { type, data } = parseBody(callbackBody, call.body);
  if (type === InteractionResponseType.Modal) {
    interaction.modal = readModal(data);
    interaction.acknowledgedBy = type;
    return noContent;
  }
  const body = readMessageBody(data);
  const isDeferred = type === InteractionResponseType.DeferredChannelMessageWithSource;
  const isMessage = type === InteractionResponseType.ChannelMessageWithSource;
  if (isMessage) refuseEmpty(call, body);
  interaction.acknowledgedBy = type;
  const original = isDeferred || isMessage ? answer(call, interaction, body, isDeferred) : null;
  interaction.originalId = original?.id ?? null;
  if (call.query.get("with_response") !== "true") return noContent;
  return ok({
    interaction: { id: interaction.id, type: 2, response_message_id: interaction.originalId },
    ...(original === null ? {} : { resource: { type, message: toMessage(state, original, true) } }),
  });
}

/** https://docs.discord.com/developers/components/reference#label */
const modalData = z.strictObject({
  custom_id: z.string().min(1).max(100),
  title: z.string().min(1).max(45),
  components: z.tuple([
    z.strictObject({
      type: z.literal(ComponentType.Label),
      label: z.string().min(1).max(45),
      component: z.strictObject({
        type: z.literal(ComponentType.TextInput),
        custom_id: z.string().min(1).max(100),
        style: z.enum(TextInputStyle),
        required: z.boolean(),
        max_length: z.number().min(1).max(4000),
      }),
    }),
  ]),
});

function readModal(data: unknown): ModalRecord {
  const { custom_id: customId, title, components } = parseBody(modalData, data);
  const [{ label, component }] = components;
  return { customId, title, label, field: component.custom_id, maxLength: component.max_length };
}

/** Right after a deferral it fills the deferred answer, instead of adding a second one. */
function followUp(call: RestCall): RestAnswer {
  const interaction = interactionOf(call);
  const body = readMessageBody(call.body);
  refuseEmpty(call, body);
  const original =
    interaction.originalId === null ? undefined : call.state.messages.get(interaction.originalId);
  if (original?.isLoading === true) return change(call, original, body);
  return ok(toMessage(call.state, answer(call, interaction, body, false), true));
}

function get(call: RestCall): RestAnswer {
  return ok(toMessage(call.state, answerOf(call, interactionOf(call)), true));
}

function edit(call: RestCall): RestAnswer {
  return change(call, answerOf(call, interactionOf(call)), readMessageBody(call.body));
}

function remove(call: RestCall): RestAnswer {
  const message = answerOf(call, interactionOf(call));
  if (message.isEphemeral) call.state.messages.delete(message.id);
  else deleteMessages(call.state, call.state.channel(message.channelId), [message.id], false);
  return noContent;
}

/** The interaction whose token is in the path. @throws ApiError 50027 if it is too old, 10015 before its callback */
function interactionOf(call: RestCall): InteractionRecord {
  const token = param(call, "token");
  const found = [...call.state.interactions.values()].find((interaction) => interaction.token === token);
  if (found === undefined || param(call, "application") !== call.state.bot.id) throw unknownWebhook();
  if (performance.now() - found.createdAt > call.state.options.interactionTokenMs)
    throw invalidWebhookToken();
  if (found.acknowledgedBy === null) throw unknownWebhook();
  return found;
}

function answerOf(call: RestCall, interaction: InteractionRecord): MessageRecord {
  const wanted = param(call, "message");
  const id = wanted === "@original" ? interaction.originalId : wanted;
  const message =
    id === null || !interaction.messageIds.includes(id) ? undefined : call.state.messages.get(id);
  if (message === undefined) throw unknownMessage();
  return message;
}

function answer(
  call: RestCall,
  interaction: InteractionRecord,
  body: MessageBody,
  isLoading: boolean,
): MessageRecord {
  const id = call.state.ids.next();
  const message = postMessage(call.state, {
    id,
    channelId: interaction.channelId,
    authorId: call.state.bot.id,
    content: body.content ?? "",
    embeds: permittedEmbeds(call.state.channel(interaction.channelId), body) ?? [],
    components: body.components ?? [],
    files: storeUploads(call, interaction.channelId, id),
    allowedMentions: body.allowed_mentions ?? null,
    isEphemeral: ((body.flags ?? 0) & MessageFlags.Ephemeral) !== 0,
    isLoading,
    interactionId: interaction.id,
  });
  interaction.messageIds.push(id);
  return message;
}

function change(call: RestCall, message: MessageRecord, body: MessageBody): RestAnswer {
  refuseTextInBox(message, body);
  editMessage(call.state, message, {
    content: body.content ?? undefined,
    components: body.components ?? undefined,
    embeds: permittedEmbeds(call.state.channel(message.channelId), body),
    files: storeUploads(call, message.channelId, message.id),
    allowedMentions: body.allowed_mentions ?? undefined,
  });
  return ok(render(call.state, message));
}

function render(state: State, message: MessageRecord): object {
  return toMessage(state, message, true);
}
