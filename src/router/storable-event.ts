import { WeirError } from "../core/errors.ts";
import type { InboundEvent } from "../core/message.ts";
import { storableText } from "../core/text.ts";

/** The log cannot hold this event as it is, and never will: its adapter tells whom it can, and goes on. */
class UnstorableEventError extends WeirError {
  readonly retryable = false;
}

/** Bytes of an identifier: both stand in an index, and Postgres takes 2,704 there. */
const MAX_ID_BYTES = 2000;

/** @throws UnstorableEventError where an identifier is too long or holds what Postgres cannot, or the time is none */
export function assertStorable(event: InboundEvent): void {
  const { type, id, at, channel } = event;
  checkLength(`${type}'s id`, id);
  if (channel !== undefined) checkLength("channel's name", channel.name);
  // These lead back to the platform: changed, they would lead nowhere.
  const addresses = [channel?.name ?? "x", event.type === "message" ? event.workspace : ""];
  if (channel?.name === "" || addresses.some((name) => storableText(name) !== name)) {
    throw new UnstorableEventError(`The ${type}'s channel has a name that cannot be stored.`);
  }
  const year = at.getUTCFullYear();
  if (!(year >= 1 && year <= 9999)) {
    throw new UnstorableEventError(`The ${type}'s time is not one between the years 1 and 9999.`);
  }
}

function checkLength(what: string, text: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes <= MAX_ID_BYTES) return;
  throw new UnstorableEventError(`The ${what} has ${bytes} bytes; at most ${MAX_ID_BYTES} are taken.`);
}
