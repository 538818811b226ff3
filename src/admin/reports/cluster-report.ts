import type { ShardState } from "../../store/channels/gateway-shards.ts";
import { isPresent, type Member, type PartitionState } from "../../store/channels/members.ts";
import { alignColumns } from "../../text/markdown-table.ts";
import { displayableLine } from "../../text/displayable.ts";
import { formatNumber, formatRanges, formatSpan } from "../../text/format.ts";
import { counted } from "../../text/text.ts";
import type { TimeFormat } from "../../text/time.ts";
import { describeKeys } from "./signing-keys.ts";
import { type ClusterState, describeCluster, parseClusterState } from "./daemon-status.ts";

/** A daemon of a cluster, as `weir cluster --json` prints it. */
interface ReportedMember extends Omit<Member, "vitals"> {
  /** `gone`: no report of it for long; `unknown`: it is of another version. */
  readonly state: ClusterState["state"] | "gone" | "unknown";
  readonly channels: number;
  readonly due: PartitionState["due"];
  /** Its last report; null: it is of another version. */
  readonly cluster: ClusterState | null;
}

export interface ClusterReport {
  readonly daemons: readonly ReportedMember[];
  /** `homes`: the present daemons that claim to be its home. Several: the wrong ones are about to notice. */
  readonly partitions: readonly (PartitionState & { readonly homes: readonly string[] })[];
  /** Connections to platforms. `holders`: the present daemons that claim to have them. */
  readonly shards: readonly (ShardState & { readonly holders: readonly string[] })[];
  /** In all channels. */
  readonly due: PartitionState["due"];
  /** Partitions without a known home. */
  readonly homeless: number;
}

/** The state of a cluster, by the database. Pure. */
export function reportCluster(
  members: readonly Member[],
  partitions: readonly PartitionState[],
  shards: readonly ShardState[],
): ClusterReport {
  const daemons = members.map(({ vitals, ...member }): ReportedMember => {
    const cluster = parseClusterState(vitals) ?? null;
    const state = isPresent(member) ? (cluster?.state ?? "unknown") : "gone";
    const own = partitions.filter(({ id }) => member.held.includes(id));
    const channels = own.reduce((sum, one) => sum + one.channels, 0);
    return { ...member, state, cluster, channels, due: sumDue(own) };
  });
  const here = daemons.filter(({ state }) => state !== "gone");
  const homes = partitions.map((partition) => {
    return {
      ...partition,
      homes: here.filter(({ held }) => held.includes(partition.id)).map(({ name }) => name),
    };
  });
  const homeless = homes.filter((partition) => partition.homes.length === 0).length;
  const held = shards.map((one) => ({ ...one, holders: holdersOf(one, here) }));
  return { daemons, partitions: homes, shards: held, due: sumDue(partitions), homeless };
}

function holdersOf({ platform, shard }: ShardState, daemons: readonly ReportedMember[]): string[] {
  const has = ({ cluster }: ReportedMember): boolean =>
    cluster?.shards.some((one) => one.platform === platform && one.held.includes(shard)) === true;
  return daemons.filter(has).map(({ name }) => name);
}

function sumDue(partitions: readonly PartitionState[]): PartitionState["due"] {
  return {
    channels: partitions.reduce((sum, { due }) => sum + due.channels, 0),
    longestMs: Math.max(0, ...partitions.map(({ due }) => due.longestMs)),
  };
}

export function formatCluster({ daemons, shards, homeless, due }: ClusterReport, time: TimeFormat): string[] {
  if (daemons.length === 0)
    return ["No daemon of a cluster has been here for an hour. docs/scale.md tells how to start some."];
  const head = [
    "daemon",
    "on",
    "version",
    "since",
    "heard",
    "partitions",
    "channels",
    "due",
    "shards",
    "state",
  ];
  const rows = daemons.map((one) => {
    const isGone = one.state === "gone";
    return [
      displayableLine(one.name),
      displayableLine(`${one.host}, process ${one.pid}`),
      displayableLine(one.version),
      time.minute(one.startedAt),
      `${formatSpan(one.silentMs)} ago`,
      isGone ? "" : formatNumber(one.held.length),
      isGone ? "" : formatNumber(one.channels),
      isGone ? "" : describeDue(one.due),
      isGone ? "" : describeShards(one.cluster),
      describeState(one),
    ];
  });
  return [
    ...alignColumns([head, ...rows], { gap: "  ", ruleGap: "  ", minWidth: 3 }),
    "",
    homeless === 0 ? "Every partition has a home." : `${counted(homeless, "partition")} without a home.`,
    ...describeUnheld(shards),
    due.channels === 0
      ? "No message waits for its turn."
      : `A message waits for its turn: ${describeDue(due)}.`,
    ...describeKeys(daemons),
  ];
}

function describeDue({ channels, longestMs }: PartitionState["due"]): string {
  return channels === 0
    ? "none"
    : `in ${counted(channels, "channel")}, the oldest for ${formatSpan(longestMs)}`;
}

/** Those of each platform, `discord 0-3 of 8`. */
function describeShards(cluster: ClusterState | null): string {
  const all = (cluster?.shards ?? []).map(({ platform, held, of }) => {
    const which = held.length === 0 ? "none" : formatRanges(held);
    return `${displayableLine(platform)} ${which} of ${of}`;
  });
  return all.join("; ");
}

function describeUnheld(shards: ClusterReport["shards"]): string[] {
  return Object.entries(Object.groupBy(shards, ({ platform }) => platform)).map(([platform, all = []]) => {
    const of = all[0]?.of ?? 0;
    const unheld = of - all.filter(({ holders }) => holders.length > 0).length;
    const name = displayableLine(platform);
    if (unheld === 0) return `Every shard of ${name} is some daemon's.`;
    return `${unheld} of the ${counted(of, "shard")} of ${name} without a daemon: what is said there is not heard.`;
  });
}

function describeState({ state, cluster, isDrained }: ReportedMember): string {
  if (state === "gone") return "gone: it was killed, or is cut off from the database";
  if (cluster === null) return "of another version";
  // It reads that every two seconds.
  return isDrained && !cluster.isResting ? "is about to be drained" : describeCluster(cluster);
}
