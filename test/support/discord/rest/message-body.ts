import type { APIEmbed } from "discord.js";
import { z } from "zod";

import { storeFile } from "../files.ts";
import type { FileRecord } from "../records.ts";
import { emptyMessage, invalidForm } from "./api-error.ts";
import { parseBody } from "./route.ts";
import type { RestCall } from "./route.ts";

const MAX_CONTENT_LENGTH = 2_000;

const messageBody = z.looseObject({
  content: z.string().nullish(),
  embeds: z.array(z.custom<APIEmbed>((value) => typeof value === "object")).nullish(),
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
 * Reads the body of whatever creates or edits a message. The limit counts UTF-16 units, which is the strictest
 * reading of "2000 characters".
 * @throws ApiError 50035
 */
export function readMessageBody(body: unknown): MessageBody {
  const parsed = parseBody(messageBody, body);
  if ((parsed.content ?? "").length > MAX_CONTENT_LENGTH) {
    throw invalidForm("content", "BASE_TYPE_MAX_LENGTH", `Must be ${MAX_CONTENT_LENGTH} or fewer in length.`);
  }
  return parsed;
}

/** @throws ApiError 50006 where there is nothing to see */
export function refuseEmpty(call: RestCall, body: MessageBody): void {
  const isEmpty = (body.content ?? "").trim() === "" && (body.embeds ?? []).length === 0;
  if (isEmpty && call.uploads.length === 0) throw emptyMessage();
}

export function storeUploads(call: RestCall, channelId: string, messageId: string): FileRecord[] {
  return call.uploads.map((file) => storeFile(call.state, channelId, messageId, file));
}
