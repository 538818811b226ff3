import type { Seq } from "../../core/ids.ts";
import { isExact } from "../../text/terms.ts";
import type { Queryable } from "../database/queryable.ts";
import {
  readAsked,
  readRemaining,
  type RemainingPrints,
  RemainingTerms,
  type RemainingText,
} from "./remaining-terms.ts";
import type { Removal } from "./removal.ts";

/** Messages before a text that are searched for its words. */
const LOOKED_THROUGH = 200;

/** A text that may repeat removed words. */
export interface Retelling {
  readonly text: string;
  /** The turn whose model wrote it; null: none did, or it is unknown. */
  readonly turn: number | null;
  /** The message that asked for it; null: none did. */
  readonly asked: Seq | null;
  /** Its place in the log, before which people may have said its words; null: it is not in the log. */
  readonly seq: Seq | null;
  /** Where its text has expired; default: it has not. */
  readonly prints?: RemainingPrints | null;
}

export class RetellingCheck {
  readonly #tx: Queryable;
  readonly #removal: Removal;
  readonly #asked = new Map<number, RemainingTerms>();

  constructor(tx: Queryable, removal: Removal) {
    this.#tx = tx;
    this.#removal = removal;
  }

  /**
   * A text that a person typed repeats them once its message no longer contains it. Any other one does by a term that the messages
   * which its turn answers lack; where no turn is known, by a term that no person has said shortly before, or by a number.
   */
  async repeats({ text, turn, asked, seq, prints = null }: Retelling): Promise<boolean> {
    const { cause, channel, terms } = this.#removal;
    if (cause.kind === "edited" && asked === cause.seq && turn === null)
      return !onOneLine(cause.text).includes(onOneLine(text));
    const shared = terms.difference(await this.#termsOf([{ text, author: "", prints }]).without(terms));
    if (shared.size === 0) return false;
    if (turn !== null) return (await this.notAsked(turn, shared)).size > 0;
    if (seq === null || [...shared].some(isExact)) return true;
    // Later messages do not count: when they are deleted, this is not checked again.
    const before = await readRemaining(this.#tx, channel, seq - LOOKED_THROUGH, seq - 1);
    return (await this.#termsOf(before).without(shared)).size > 0;
  }

  /** Those of these terms that the messages which a turn answers lack. The messages are read once. */
  async notAsked(turn: number, terms: ReadonlySet<string>): Promise<ReadonlySet<string>> {
    const asked = this.#asked.get(turn) ?? this.#termsOf(await readAsked(this.#tx, turn));
    this.#asked.set(turn, asked);
    return asked.without(terms);
  }

  #termsOf(texts: readonly RemainingText[]): RemainingTerms {
    return new RemainingTerms(texts, this.#removal.keys);
  }
}

function onOneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}
