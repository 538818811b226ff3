import { timeOfTs, tsOfTime } from "../address.ts";
import type { PageReader } from "./pages.ts";
import type { SlackMessage } from "../inbound/payload.ts";

/** Messages that one range is to have; Slack's pages hold 999, and one look reads ten of them at most. */
const WANTED = 4000;
const PAGE = 999;
/** No range is shorter, ms. */
const SHORTEST_MS = 1000;

/** What was said in a channel in some time. */
export interface TimeRange {
  readonly messages: readonly SlackMessage[];
  /** All up to there was read; null: up to the end. */
  readonly toTs: string | null;
  /** How long the range behind it is to be, ms. */
  readonly nextMs: number;
  /** The plan of the workspace hides some of it. */
  readonly isLimited: boolean;
}

/**
 * The first messages behind a ts, whole up to a time. Slack does not say from which end it gives more than one look reads: so
 * a shorter time is asked for then, by how many messages were said in it.
 * @param untilTs nothing is wanted behind it; null: all is
 * @param firstMs how long the range is to be, ms; null: all of it
 * @throws SlackError
 */
export async function readRange(
  pages: PageReader,
  {
    channel,
    oldest,
    untilTs,
  }: { readonly channel: string; readonly oldest: string; readonly untilTs: string | null },
  firstMs: number | null,
): Promise<TimeRange> {
  const fromMs = timeOfTs(oldest).getTime();
  const endMs = untilTs === null ? Date.now() : timeOfTs(untilTs).getTime();
  for (let lengthMs = firstMs; ;) {
    const isRest = lengthMs === null || fromMs + lengthMs >= endMs;
    const toTs = isRest ? null : tsOfTime(new Date(fromMs + (lengthMs ?? 0) + 1000));
    const latest = toTs ?? untilTs;
    const args = { channel, oldest, inclusive: true, limit: PAGE, ...(latest !== null && { latest }) };
    const { messages, isEnd, isLimited } = await pages.read("conversations.history", args);
    const triedMs = Math.max(isRest ? endMs - fromMs : (lengthMs ?? 0), SHORTEST_MS);
    if (isEnd || triedMs === SHORTEST_MS) {
      const nextMs = triedMs * Math.min(8, Math.max(0.5, WANTED / Math.max(1, messages.length)));
      return { messages, toTs, nextMs, isLimited };
    }
    lengthMs = Math.max(SHORTEST_MS, Math.min(triedMs / 2, lengthOf(messages, WANTED)));
  }
}

/** How long a time has `count` messages, by how close together these were said, ms. Pure. */
function lengthOf(messages: readonly SlackMessage[], count: number): number {
  const times = messages.map(({ ts }) => timeOfTs(ts).getTime());
  const [first, last] = times.reduce(
    ([low, high], time) => [Math.min(low, time), Math.max(high, time)],
    [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
  );
  return ((last - first) / Math.max(1, messages.length)) * count;
}
