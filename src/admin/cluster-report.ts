import { isPresent, type Member, type PartitionState } from "../store/channels/members.ts";
import { alignColumns } from "../text/markdown-table.ts";
import { displayableLine } from "../text/displayable.ts";
import { formatNumber, formatSpan } from "../text/format.ts";
import { counted } from "../text/text.ts";
import type { TimeFormat } from "../text/time.ts";
import { describeKeys } from "./signing-keys.ts";
import { type ClusterState, describeCluster, parseClusterState } from "./daemon-status.ts";

/** A daemon of a cluster, as `weir cluster --json` prints it. */
interface ReportedMember extends Omit<Member, "vitals"> {
  /** `gone`: it has told nothing of itself for long; `unknown`: it is of another version. */
  readonly state: ClusterState["state"] | "gone" | "unknown";
  readonly channels: number;
  readonly due: PartitionState["due"];
  /** As it has last told; null: it is of another version. */
  readonly cluster: ClusterState | null;
}

export interface ClusterReport {
  readonly daemons: readonly ReportedMember[];
  /** `homes`: the daemons that are there and say that they are home of it. More than one: they are about to notice that they are not. */
  readonly partitions: readonly (PartitionState & { readonly homes: readonly string[] })[];
  /** In all channels. */
  readonly due: PartitionState["due"];
  /** Partitions that no daemon is home of, as far as is known. */
  readonly homeless: number;
}

/** What the database tells of a cluster. Pure. */
export function reportCluster(
  members: readonly Member[],
  partitions: readonly PartitionState[],
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
  return { daemons, partitions: homes, due: sumDue(partitions), homeless };
}

function sumDue(partitions: readonly PartitionState[]): PartitionState["due"] {
  return {
    channels: partitions.reduce((sum, { due }) => sum + due.channels, 0),
    longestMs: Math.max(0, ...partitions.map(({ due }) => due.longestMs)),
  };
}

/** The report for a person. Pure. */
export function formatCluster({ daemons, homeless, due }: ClusterReport, time: TimeFormat): string[] {
  if (daemons.length === 0)
    return ["No daemon of a cluster has been here for an hour. docs/scale.md tells how to start some."];
  const head = ["daemon", "on", "version", "since", "heard", "partitions", "channels", "due", "state"];
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
      describeState(one),
    ];
  });
  return [
    ...alignColumns([head, ...rows], { gap: "  ", ruleGap: "  ", minWidth: 3 }),
    "",
    homeless === 0 ? "Every partition has a home." : `${counted(homeless, "partition")} without a home.`,
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

function describeState({ state, cluster, isDrained }: ReportedMember): string {
  if (state === "gone") return "gone: it was killed, or is cut off from the database";
  if (cluster === null) return "of another version";
  // It reads that every two seconds.
  return isDrained && !cluster.isResting ? "is about to be drained" : describeCluster(cluster);
}
