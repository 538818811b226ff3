import { parseMessageId } from "../address.ts";
import { SlackError } from "../web/slack-error.ts";

const EVENT_TYPE = "weir_message";

/** The metadata by which a message is found again. Pure. */
export function keyMetadata(idempotencyKey: string): object {
  return { event_type: EVENT_TYPE, event_payload: { key: idempotencyKey } };
}

/** A message of the bot's, as arguments of the Web API. @throws SlackError if the id is no message's */
export function ownMessage(id: string): { readonly channel: string; readonly ts: string } {
  const parsed = parseMessageId(id);
  if (parsed === null) throw new SlackError("gone", "This is no message of Slack's.");
  return parsed;
}
