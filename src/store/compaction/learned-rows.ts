import type { Logger } from "pino";
import type { LearnedDrafts } from "../../core/compaction.ts";
import type { ChannelId } from "../../core/ids.ts";
import { type Learned, NOTHING_LEARNED } from "../../core/learned.ts";
import type { Queryable } from "../database/queryable.ts";
import type { Signer } from "../database/signing-key.ts";

/**
 * What a feature learns from the entries of a summary. The summary's job has the drafts in its result, each list under its name, and a
 * trigger of `jobs` makes rows of them in the transaction of the commit.
 */
export interface LearnedRows {
  /** Reads what was learned in a channel, for a history. */
  read(client: Queryable, channel: ChannelId): Promise<Learned>;
  /** Completes the drafts of a job for their rows. @returns without the lists that cannot be stored; the summary is committed without them */
  complete(client: Queryable, channel: ChannelId, drafts: LearnedDrafts): Promise<LearnedDrafts>;
}

export interface LearnedRowsParts {
  readonly signer: Signer;
  /** Null: nothing is logged. */
  readonly log: Logger | null;
}

export const NO_LEARNED_ROWS: LearnedRows = {
  read: async () => Promise.resolve(NOTHING_LEARNED),
  complete: async () => Promise.resolve({}),
};
