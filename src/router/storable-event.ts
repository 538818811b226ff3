import { errorMessage, UnstorableError, WeirError } from "../core/errors.ts";
import type { InboundEvent } from "../core/message.ts";
import { storableText } from "../text/text.ts";
import { ruleOfRefusal } from "../store/database/errors.ts";

/** Limit of an identifier, in bytes: it is indexed, and Postgres indexes 2,704. */
const MAX_ID_BYTES = 2000;

/** @throws UnstorableError if an identifier is too long, Postgres cannot store it, or the time is invalid */
export function assertStorable(event: InboundEvent): void {
  const { type, id, at, channel } = event;
  checkLength(`${type}'s id`, id);
  if (channel !== undefined) checkLength("channel's name", channel.name);
  // These address the platform: a changed address would lead nowhere.
  const addresses = [channel?.name ?? "x", event.type === "message" ? event.workspace : ""];
  if (channel?.name === "" || addresses.some((name) => storableText(name) !== name)) {
    throw new UnstorableError(`The ${type}'s channel has a name that cannot be stored.`);
  }
  const year = at.getUTCFullYear();
  if (!(year >= 1 && year <= 9999)) {
    throw new UnstorableError(`The ${type}'s time is not one between the years 1 and 9999.`);
  }
}

/** The log did not take an event, but not because of the event: it may take it later. */
class NotTakenError extends WeirError {
  readonly retryable = true;
}

/**
 * The error that an adapter gets for a failure: permanent if the event's own values cause it. Any other
 * failure, even of an unknown kind, may be over later.
 */
export function blame(what: InboundEvent["type"] | "channel", failure: unknown): WeirError {
  if (failure instanceof UnstorableError) return failure;
  const rule = ruleOfRefusal(failure);
  if (rule !== null) {
    return new UnstorableError(`The database refuses a value of the ${what} (${rule}).`, { cause: failure });
  }
  return failure instanceof WeirError && failure.retryable
    ? failure
    : new NotTakenError(errorMessage(failure), { cause: failure });
}

function checkLength(what: string, text: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes <= MAX_ID_BYTES) return;
  throw new UnstorableError(`The ${what} has ${bytes} bytes; at most ${MAX_ID_BYTES} are taken.`);
}
