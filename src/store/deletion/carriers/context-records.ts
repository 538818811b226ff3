import type { Carrier } from "../carrier.ts";

/**
 * Records of contexts are deleted by deferred triggers of `entries`, `revisions`, `memories` and `notes`: `voided_at` has to be the time
 * of the commit, so that no turn that has read the old text keeps a record.
 */
export const CONTEXT_RECORDS: Carrier = {
  name: "context records",
  texts: [{ table: "context_records", text: "t.content::text" }],
};
