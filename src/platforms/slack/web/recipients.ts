import { BoundedMap } from "../../../async/bounded-map.ts";
import { platformIdOf } from "../../../core/message.ts";

interface Recipient {
  readonly user: string;
  /** The person's own team, which may be another workspace's. */
  readonly team: string;
}

const MAX_MESSAGES = 5000;

/** Who said the latest messages: a stream in a channel needs a person to whom it is shown as it grows. */
export class Recipients {
  readonly #known = new BoundedMap<Recipient>(MAX_MESSAGES);

  said(messageId: string, recipient: Recipient): void {
    this.#known.set(messageId, recipient);
  }

  /** The one person who said all of these messages; null: several did, or it is unknown. */
  of(messageIds: readonly string[]): Recipient | null {
    const all = messageIds.map((id) => this.#known.get(platformIdOf(id) ?? id));
    const [first] = all;
    if (first === undefined) return null;
    return all.every((one) => one?.user === first.user) ? first : null;
  }
}
