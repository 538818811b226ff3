import type { ChannelOrder } from "../../core/listings.ts";
import { formatAddress } from "../../core/ids.ts";
import type { ChannelRow } from "../../store/channels/channels.ts";
import type { ChannelOverview } from "../../store/channels/overview.ts";
import { displayableLine } from "../../text/displayable.ts";
import { formatNumber } from "../../text/format.ts";
import { alignColumns } from "../../text/markdown-table.ts";
import type { TimeFormat } from "../../text/time.ts";

/** A channel as an operator sees it beside others. */
export interface ListedChannel {
  readonly channel: string;
  readonly agent: string;
  /** Entries of its log. */
  readonly entries: number;
  /** Share of the usable window that the last answered request took; null: there is no such request. */
  readonly level: number | null;
  readonly answeredAt: Date | null;
  readonly heardAt: Date | null;
  readonly due: number;
  readonly dueSince: Date | null;
}

/** @param usableOf tokens that a request of this channel's agent to this model may use */
export function listChannel(
  { channel, heardAt, due, dueSince, lastRequest }: ChannelOverview,
  usableOf: (channel: ChannelRow, model: string) => number,
): ListedChannel {
  return {
    channel: formatAddress(channel.address),
    agent: channel.agent,
    entries: channel.lastSeq,
    level:
      lastRequest === null ? null : lastRequest.tokens / Math.max(1, usableOf(channel, lastRequest.model)),
    answeredAt: lastRequest?.at ?? null,
    heardAt,
    due,
    dueSince,
  };
}

/** The highest, the newest and the largest first. Pure. */
export function sortChannels<Listed extends ListedChannel>(
  channels: readonly Listed[],
  order: ChannelOrder,
): Listed[] {
  const byName = (a: Listed, b: Listed): number => (a.channel < b.channel ? -1 : 1);
  if (order === "name") return channels.toSorted(byName);
  const rank: Record<Exclude<ChannelOrder, "name">, (one: Listed) => number> = {
    heard: ({ heardAt }) => heardAt?.getTime() ?? -1,
    level: ({ level }) => level ?? -1,
    due: ({ due }) => due,
    entries: ({ entries }) => entries,
  };
  return channels.toSorted((a, b) => rank[order](b) - rank[order](a) || byName(a, b));
}

/** The channels as a table for a person, one line each. Pure. */
export function formatChannels(
  channels: readonly (ListedChannel & { readonly messages: number })[],
  time: TimeFormat,
): string[] {
  const minute = (at: Date | null): string => (at === null ? "never" : time.minute(at));
  const rows = channels.map(({ channel, agent, messages, level, heardAt, due, dueSince }) => [
    displayableLine(channel),
    displayableLine(agent),
    formatNumber(messages),
    formatLevel(level),
    minute(heardAt),
    due === 0 ? "" : `${formatNumber(due)} since ${minute(dueSince)}`,
  ]);
  const head = ["channel", "agent", "messages", "level", "last heard", "due"];
  return alignColumns([head, ...rows], { gap: "  ", ruleGap: "  ", minWidth: 3 });
}

/** `82 %`; `–`: nothing was answered yet. Pure. */
export function formatLevel(level: number | null): string {
  return level === null ? "–" : `${Math.round(level * 100)} %`;
}
