import { WeirError } from "../core/errors.ts";
import type { InboundMessage } from "../core/message.ts";

/** The log cannot hold this event as it is, and never will: its adapter tells whom it can, and goes on. */
class UnstorableEventError extends WeirError {
  readonly retryable = false;
}

/** Bytes of an identifier: both stand in an index, and Postgres takes 2,704 there. */
const MAX_ID_BYTES = 2000;

/** @throws UnstorableEventError where an identifier is too long, or the time is none */
export function assertStorable({ id, channel, at }: InboundMessage): void {
  checkLength("id", id);
  checkLength("channel's name", channel.name);
  const year = at.getUTCFullYear();
  if (!(year >= 1 && year <= 9999)) {
    throw new UnstorableEventError("The message's time is not one between the years 1 and 9999.");
  }
}

function checkLength(what: string, text: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes <= MAX_ID_BYTES) return;
  throw new UnstorableEventError(
    `The message's ${what} has ${bytes} bytes; at most ${MAX_ID_BYTES} are taken.`,
  );
}
