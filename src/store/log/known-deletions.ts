import type { Owner } from "../../core/ids.ts";
import type { Queryable } from "../database/database.ts";

/** Of which deletions a channel's owner knows: what a turn calls that does not know of one keeps none of its words. */

/** The channel's owner knows of all deletions so far, and no turn of it runs. */
export async function knowDeletions(client: Queryable, { channel, epoch }: Owner): Promise<void> {
  await client.query({ name: "deletions_known", text: "select know_deletions($1, $2)" }, [channel, epoch]);
}
