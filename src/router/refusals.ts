import { BoundedMap } from "../async/bounded-map.ts";
import { type ChannelAddress, formatAddress, personKey } from "../core/ids.ts";
import type { InboundMessage } from "../core/message.ts";

export type RefusalReason =
  | "unbound"
  | "bot"
  | "not_allowed"
  | "not_let_in"
  | "not_addressed"
  | "too_often"
  | "too_old";

/** A message that caused no turn. It holds no text, so a deletion need not search it. */
export interface Refusal {
  readonly messageId: string;
  readonly at: Date;
  readonly why: RefusalReason;
}

/** People with a refused message, each counted per channel. */
const MAX_KNOWN = 10_000;

/** The newest message of each person in each channel that the router refused a turn, for `/why`. In memory: lost at a restart. */
export class Refusals {
  readonly #last = new BoundedMap<Refusal>(MAX_KNOWN);

  /** Catch-up brings older messages after newer ones: the newest by the platform's clock stays. */
  note({ channel, author, id, at }: InboundMessage, why: RefusalReason): void {
    const key = keyOf(channel, author.id);
    const known = this.#last.get(key);
    if (known === undefined || known.at <= at) this.#last.set(key, { messageId: id, at, why });
  }

  last(channel: ChannelAddress, person: string): Refusal | null {
    return this.#last.get(keyOf(channel, person)) ?? null;
  }
}

function keyOf(channel: ChannelAddress, person: string): string {
  return `${formatAddress(channel)}\n${personKey(channel.platform, person)}`;
}
