import type { ChannelAddress } from "../../core/ids.ts";

export const PLATFORM_NAME = "slack";

/** A conversation's place, in Slack's terms. */
export interface SlackPlace {
  /** `C…`, `G…` or `D…`. */
  readonly channel: string;
  /** The ts of the thread's root; null: the channel itself. */
  readonly threadTs: string | null;
}

/** Weir's channel names: `C123` is a channel, `C123/1763.0001` a thread of it. Pure. */
export function addressOf({ channel, threadTs }: SlackPlace): ChannelAddress {
  return { platform: PLATFORM_NAME, name: threadTs === null ? channel : `${channel}/${threadTs}` };
}

/** The inverse of {@link addressOf}. Pure. */
export function placeOf({ name }: ChannelAddress): SlackPlace {
  const [channel = "", threadTs] = name.split("/");
  return { channel, threadTs: threadTs ?? null };
}

/** A ts is unique in its channel only. Pure. */
export function messageId(channel: string, ts: string): string {
  return `${channel}/${ts}`;
}

/** The inverse of {@link messageId}; null: the id is not a message's, but such as a reaction's. Pure. */
export function parseMessageId(id: string): { readonly channel: string; readonly ts: string } | null {
  const match = /^([A-Z0-9]+)\/(\d+\.\d+)$/.exec(id);
  return match?.[1] === undefined || match[2] === undefined ? null : { channel: match[1], ts: match[2] };
}

/**
 * A message's address in Slack; null: the id is not a message's, or the team's address is unknown. Pure.
 * @param teamUrl `https://acme.slack.com/`
 * @param newestId Slack's id of a channel by Weir's
 */
export function linkTo(
  teamUrl: string,
  address: ChannelAddress,
  id: string,
  newestId: (channel: string) => string,
): string | null {
  const message = parseMessageId(id);
  if (message === null || teamUrl === "") return null;
  const { channel, threadTs } = placeOf(address);
  const link = `${teamUrl.replace(/(?<!\/)\/+$/, "")}/archives/${newestId(message.channel)}/p${message.ts.replace(".", "")}`;
  return threadTs === null || threadTs === message.ts
    ? link
    : `${link}?thread_ts=${threadTs}&cid=${newestId(channel)}`;
}

/** Compares two ts; below 0: `a` is earlier. Pure. */
export function compareTs(a: string, b: string): number {
  const [seconds = "", fraction = ""] = a.split(".");
  const [otherSeconds = "", otherFraction = ""] = b.split(".");
  const difference = Number(seconds) - Number(otherSeconds);
  return difference === 0
    ? Number(fraction.padEnd(6, "0")) - Number(otherFraction.padEnd(6, "0"))
    : difference;
}

/** The ts in a message's id; for any other id, the id. Pure. */
export function tsOf(id: string): string {
  return parseMessageId(id)?.ts ?? id;
}

/** The time of a ts, by Slack's clock. Pure. */
export function timeOfTs(ts: string): Date {
  return new Date(Math.round(Number(ts) * 1000));
}

/** The first ts of a time's second: a ts's fraction is not always a time. Pure. */
export function tsOfTime(at: Date): string {
  return `${Math.floor(at.getTime() / 1000)}.000000`;
}

/** Direct messages with one person. Pure. */
export function isDm(channel: string): boolean {
  return channel.startsWith("D");
}
