import { type APIEmbed, ButtonStyle, ComponentType, MessageFlags } from "discord.js";
import { z } from "zod";

import { storeFile } from "../files.ts";
import type { ChannelRecord, FileRecord, MessageRecord } from "../records.ts";
import { emptyMessage, invalidForm, missingPermissions } from "./api-error.ts";
import { parseBody, type RestCall } from "./route.ts";

const MAX_CONTENT_LENGTH = 2_000;

/** https://docs.discord.com/developers/components/reference: five buttons a row, each with a unique id. */
const actionRow = z.strictObject({
  type: z.literal(ComponentType.ActionRow),
  components: z
    .array(
      z.strictObject({
        type: z.literal(ComponentType.Button),
        style: z.literal([
          ButtonStyle.Primary,
          ButtonStyle.Secondary,
          ButtonStyle.Success,
          ButtonStyle.Danger,
        ]),
        label: z.string().min(1).max(80),
        custom_id: z.string().min(1).max(100),
      }),
    )
    .min(1)
    .max(5)
    .refine((buttons) => new Set(buttons.map((button) => button.custom_id)).size === buttons.length),
});

/** What Weir draws in a box: texts, lines, buttons. */
const container = z.strictObject({
  type: z.literal(ComponentType.Container),
  accent_color: z.number().exactOptional(),
  components: z
    .array(
      z.union([
        z.strictObject({ type: z.literal(ComponentType.TextDisplay), content: z.string().min(1) }),
        z.strictObject({ type: z.literal(ComponentType.Separator) }),
        actionRow,
      ]),
    )
    .min(1),
});
const MAX_COMPONENTS = 40;
const MAX_COMPONENT_TEXT = 4_000;

const messageBody = z.looseObject({
  content: z.string().nullish(),
  embeds: z.array(z.custom<APIEmbed>((value) => typeof value === "object")).nullish(),
  components: z
    .array(z.union([actionRow, container]))
    .max(10)
    .nullish(),
  nonce: z.union([z.string(), z.number()]).nullish(),
  enforce_nonce: z.boolean().optional(),
  flags: z.number().nullish(),
  allowed_mentions: z
    .object({
      parse: z.array(z.string()).optional(),
      users: z.array(z.string()).optional(),
      roles: z.array(z.string()).optional(),
      replied_user: z.boolean().optional(),
    })
    .nullish(),
  message_reference: z
    .looseObject({ message_id: z.string().optional(), fail_if_not_exists: z.boolean().optional() })
    .nullish(),
});

export type MessageBody = z.infer<typeof messageBody>;

/**
 * Reads the body of a request that creates or edits a message. The limit counts UTF-16 units, which is the strictest
 * reading of "2000 characters".
 * @throws ApiError 50035
 */
export function readMessageBody(body: unknown): MessageBody {
  const parsed = parseBody(messageBody, body);
  if ((parsed.content ?? "").length > MAX_CONTENT_LENGTH) {
    throw invalidForm("content", "BASE_TYPE_MAX_LENGTH", `Must be ${MAX_CONTENT_LENGTH} or fewer in length.`);
  }
  refuseLargeEmbeds(parsed.embeds ?? []);
  refuseMixedComponents(parsed);
  return parsed;
}

/** https://docs.discord.com/developers/components/reference: a message is one of both. @throws ApiError 50035 */
function refuseMixedComponents({ flags, content, embeds, components }: MessageBody): void {
  const refuse = (what: string): never => {
    throw invalidForm("components", "COMPONENT_VALIDATION", what);
  };
  const boxes = (components ?? []).filter((one) => one.type === ComponentType.Container);
  if (((flags ?? 0) & MessageFlags.IsComponentsV2) === 0)
    return boxes.length > 0 ? refuse("flags") : undefined;
  if ((content ?? "") !== "" || (embeds ?? []).length > 0) refuse("content");
  const inner = boxes.flatMap((box) => box.components);
  const buttons = inner.flatMap((one) => (one.type === ComponentType.ActionRow ? one.components : []));
  if (boxes.length + inner.length + buttons.length > MAX_COMPONENTS) refuse("number");
  const texts = inner.flatMap((one) => (one.type === ComponentType.TextDisplay ? one.content : []));
  if (texts.length === 0 || texts.join("").length > MAX_COMPONENT_TEXT) refuse("text");
}

/** A message in components stays one. @throws ApiError 50035 */
export function refuseTextInBox({ components }: MessageRecord, { content }: MessageBody): void {
  if ((content ?? "") !== "" && components.some(({ type }) => type === ComponentType.Container))
    throw invalidForm("content", "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2", "content");
}

const LONGEST = { title: 256, description: 4096, name: 256, value: 1024 };
const MAX_EMBEDS = 10;
const MAX_EMBED_FIELDS = 25;
const MAX_EMBED_TEXT = 6000;

/** @throws ApiError 50035 */
function refuseLargeEmbeds(embeds: readonly APIEmbed[]): void {
  const refuse = (what: string): never => {
    throw invalidForm("embeds", "BASE_TYPE_BAD_LENGTH", what);
  };
  let total = 0;
  const take = (kind: keyof typeof LONGEST, text: string | undefined, isNeeded: boolean): void => {
    const { length } = (text ?? "").trim();
    if (length > LONGEST[kind] || (isNeeded && length === 0)) refuse(kind);
    total += length;
  };
  if (embeds.length > MAX_EMBEDS) refuse("embeds");
  for (const { title, description, fields = [] } of embeds) {
    take("title", title, false);
    take("description", description, false);
    if (fields.length > MAX_EMBED_FIELDS) refuse("fields");
    for (const { name, value } of fields) {
      take("name", name, true);
      take("value", value, true);
    }
  }
  if (total > MAX_EMBED_TEXT) refuse("total");
}

/** The embeds that remain where the bot may not embed links. @throws ApiError 50013 if the message would be empty */
export function permittedEmbeds(
  { access }: ChannelRecord,
  { content, embeds }: MessageBody,
): readonly APIEmbed[] | undefined {
  if (access !== "no_embeds" || (embeds ?? []).length === 0) return embeds ?? undefined;
  if ((content ?? "").trim() === "") throw missingPermissions();
  return [];
}

/** @throws ApiError 50006 if it is empty */
export function refuseEmpty(call: RestCall, body: MessageBody): void {
  const isEmpty =
    (body.content ?? "").trim() === "" && (body.embeds ?? []).length + (body.components ?? []).length === 0;
  if (isEmpty && call.uploads.length === 0) throw emptyMessage();
}

export function storeUploads(call: RestCall, channelId: string, messageId: string): FileRecord[] {
  return call.uploads.map((file) => storeFile(call.state, channelId, messageId, file));
}
