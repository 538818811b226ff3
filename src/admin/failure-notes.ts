import type { Logger } from "pino";
import { errorMessage } from "../core/errors.ts";
import { parseAddress } from "../core/ids.ts";
import type { Platform } from "../platforms/platform.ts";
import type { Store } from "../store/store.ts";
import type { Events, WeirEvent } from "../telemetry/events.ts";
import { isNamedOwner, type OwnersConfig } from "./commands/permissions.ts";

export interface FailureNotesParts {
  readonly events: Events;
  readonly store: { readonly answers: Pick<Store["answers"], "authorsInDm"> };
  /** The chat platforms: a terminal shows failures itself. */
  readonly platforms: readonly Platform[];
  /** Roles do not count: a direct message has no roles. */
  readonly owners: () => Omit<OwnersConfig, "holds">;
  /** Explains why a turn failed, with the remedy. */
  readonly explain: (reason: string) => string;
  readonly log: Logger;
}

/**
 * Tells an owner in their direct messages why an answer failed, beside the sentence that everybody gets. It stays outside the log:
 * no model reads it.
 * @returns a function that ends it
 */
export function tellOwnersOfFailures(parts: FailureNotesParts): () => void {
  const { events, log } = parts;
  return events.on((event) => {
    if (event.type !== "turn_settled" || event.outcome !== "failed" || event.reason === null) return;
    tell(parts, event, event.reason).catch((error: unknown) =>
      log.warn({ channel: event.channel, why: errorMessage(error) }, "notice_not_sent"),
    );
  });
}

async function tell(
  { store, platforms, owners, explain }: FailureNotesParts,
  { channel, turn, inReplyTo }: Extract<WeirEvent, { type: "turn_settled" }>,
  reason: string,
): Promise<void> {
  const address = parseAddress(channel);
  const platform = platforms.find(({ capabilities }) => capabilities.serves(address));
  if (platform === undefined) return;
  const authors = await store.answers.authorsInDm(address, inReplyTo);
  const config: OwnersConfig = { ...owners(), holds: () => false };
  const place = { platform: address.platform, workspace: "" };
  const areOwners = authors.every((id) => isNamedOwner({ id, name: id, roles: [] }, place, config));
  if (authors.length === 0 || !areOwners) return;
  await platform.send({
    channel: address,
    idempotencyKey: `failure-${turn}`,
    mayBeThere: false,
    text: explain(reason),
    final: true,
    inReplyTo: [...inReplyTo],
    kind: "notice",
  });
}
