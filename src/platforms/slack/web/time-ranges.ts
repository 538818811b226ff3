import { timeOfTs, tsOfTime } from "../address.ts";
import type { PageReader } from "./pages.ts";
import type { SlackMessage } from "../inbound/payload.ts";

/** Target messages per range; a page of Slack's holds 999, and one read takes ten pages at most. */
const WANTED = 4000;
const PAGE = 999;
const SHORTEST_MS = 1000;

/** A channel's messages in a time range. */
interface TimeRange {
  readonly messages: readonly SlackMessage[];
  /** Read up to here; null: up to the end. */
  readonly toTs: string | null;
  readonly nextMs: number;
  /** The workspace's plan hides a part. */
  readonly isLimited: boolean;
}

/**
 * The first messages after a ts, complete up to a time. If one read cannot take all, Slack does not document which end
 * it returns: so a shorter range is requested, sized by the density of messages.
 * @param untilTs the end of the wanted messages; null: none
 * @param firstMs the range's length, ms; null: all
 * @throws SlackError
 */
export async function readRange(
  pages: PageReader,
  parts: { readonly channel: string; readonly oldest: string; readonly untilTs: string | null },
  firstMs: number | null,
): Promise<TimeRange> {
  const { channel, oldest, untilTs } = parts;
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

/** The time that holds `count` messages at the density of `messages`, ms. Pure. */
function lengthOf(messages: readonly SlackMessage[], count: number): number {
  const times = messages.map(({ ts }) => timeOfTs(ts).getTime());
  const [first, last] = times.reduce(
    ([low, high], time) => [Math.min(low, time), Math.max(high, time)],
    [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
  );
  return ((last - first) / Math.max(1, messages.length)) * count;
}
