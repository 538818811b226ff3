import type { Queryable } from "../database/queryable.ts";

/**
 * Says, until the end of the transaction, that it looks for what tells of a text that goes. Where nobody says so, the database does what is
 * safe for a daemon of a version that does not know of them: it takes all that may tell of it, or refuses.
 * @param client in a transaction
 * @param what `prints`: fingerprints of texts that are no longer kept
 */
export async function looksFor(
  client: Queryable,
  what: "notes" | "prints" | "reminders" | "subagents",
): Promise<void> {
  await client.query({
    name: `${what}_looked_for`,
    text: `select set_config('weir.looks_for_${what}', 'on', true)`,
  });
}
