import { SUMMARY_LABEL_TOKENS } from "../../../src/context/render.ts";
import { estimateTokens } from "../../../src/text/tokens.ts";
import { SECOND_AGENT } from "../profile.ts";
import { agentIn } from "../rooms.ts";
import type { RowCheck } from "./row-check.ts";

/** The shortest cap of one summary, whatever the window. */
const MIN_CAP = 64;
const MAX_LIVE = 8;

/** At most eight live summaries, and together, with their labels, 35 % of the usable window (or eight of the shortest cap). */
export const checkI8: RowCheck = (_, after, ledger) => {
  const live = after.summaries.filter((summary) => summary.live && summary.kind !== "reset");
  const limits = [...ledger.profiles].map((profile) => {
    const config = agentIn(ledger.name) === SECOND_AGENT ? profile.second : profile.config;
    const usable = config.contextWindow - config.maxOutputTokens - config.generationReserve;
    return Math.max(MAX_LIVE * (MIN_CAP + SUMMARY_LABEL_TOKENS), (0.35 * usable) / Math.min(1, ledger.ratio));
  });
  // A restart with a smaller window finds what an earlier one has made.
  const limit = Math.max(...limits);
  const tokens = live.reduce((sum, { text }) => sum + estimateTokens(text) + SUMMARY_LABEL_TOKENS, 0);
  const wrong = live.length > MAX_LIVE ? [`${live.length} live summaries`] : [];
  if (tokens > limit) wrong.push(`live summaries have ${tokens} tokens, the limit is ${Math.floor(limit)}`);
  return wrong;
};
