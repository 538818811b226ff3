/**
 * What the store needs to know of features: their rows with words of people, and what they learn from the entries of summaries. It is no part
 * of `features.ts`, since commands that only read the database need no more than this.
 */

import type { FeatureRows } from "../store/store.ts";
import { carrier as questions } from "./questions/carrier.ts";
import { carrier as notes } from "./notes/carrier.ts";
import { carrier as reminders } from "./reminders/carrier.ts";
import { carrier as subagents } from "./subagents/carrier.ts";
import { carrier as wishes } from "./wishes/carrier.ts";
import { wishRows } from "./wishes/learned-rows.ts";

export const FEATURE_ROWS: FeatureRows = {
  carriers: [wishes, notes, reminders, subagents, questions],
  learned: wishRows,
};
