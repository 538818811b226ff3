import type { Queryable } from "../database/queryable.ts";
import type { Removal } from "./removal.ts";

/** One kind of rows that can hold words of people. */
export interface Carrier {
  readonly name: string;
  readonly texts: readonly CarriedText[];
  /**
   * Removes what repeats the removed words, and adds to `removal.derived` what later carriers need. Absent: triggers do it, because other
   * writers need it as well.
   * @param tx a transaction that holds the channel's lock
   */
  readonly take?: (tx: Queryable, removal: Removal) => Promise<void>;
}

/** Where words stand in a table with a `channel_id`; the fields are SQL about its row `t`. */
export interface CarriedText {
  readonly table: string;
  readonly text: string;
  /** A condition; default: every row. */
  readonly where?: string;
  /** Tool calls whose arguments hold words, as jsonb. */
  readonly calls?: string;
  /** Terms of the text that the row keeps, as text[]. */
  readonly terms?: string;
  /** How a deletion compares it with removed terms; absent: it is removed with another row. */
  readonly compared?: Compared;
}

export interface Compared {
  /** `threads`: rows of the channel's threads count as well. */
  readonly in: "channel" | "threads";
  /** The last entry of which it can repeat words; default: any. */
  readonly lastRead?: string;
  /** It is an entry, which gets no new words; default: rows may be written again. */
  readonly isEntry?: true;
}

/** Selects `text`, `calls` and `terms` of rows. */
export function selectTexts(
  { table, text, calls = "null::jsonb", terms = "null::text[]", where = "true" }: CarriedText,
  condition: string,
): string {
  return `select ${text} as text, ${calls} as calls, ${terms} as terms from ${table} t where ${where} and ${condition}`;
}
