import { weirCommand } from "../../files/installation.ts";
import { describePurse } from "../../budget/budget.ts";
import type { ChannelOverview, Waiting } from "../../store/channels/overview.ts";
import { displayableLine } from "../../text/displayable.ts";
import { formatNumber, formatSpan } from "../../text/format.ts";
import { counted } from "../../text/text.ts";
import type { TimeFormat } from "../../text/time.ts";
import { formatLevel, type ListedChannel, sortChannels } from "./channel-list.ts";
import {
  type DaemonStatus,
  describeCircuit,
  describeCluster,
  describeConnection,
  describeOutage,
  describeRefusal,
} from "./daemon-status.ts";

interface WaitingFeature {
  readonly name: string;
  line(time: TimeFormat, oldest: (since: Date | null) => string): string;
}

/** The facts of `weir status`, as `--json` prints them. */
export interface StatusReport {
  /** Null: no daemon runs, or it did not answer. */
  readonly daemon: DaemonStatus | null;
  /** The daemons that are connected to the database, in words; null: there are no such daemons. */
  readonly connected: string | null;
  /** Where the page of this data folder's daemon is, `127.0.0.1:8420`; null: nowhere. */
  readonly page: string | null;
  /** Time of the last message on each platform, by the log. */
  readonly heard: Readonly<Record<string, Date>>;
  readonly due: { readonly messages: number; readonly channels: number; readonly since: Date | null };
  readonly waiting: Waiting;
  readonly channels: number;
  readonly fullest: readonly ListedChannel[];
}

const MOST_FULLEST = 5;

/** A summary of all channels, by the database. Pure. */
export function summariseChannels(
  overviews: readonly ChannelOverview[],
  listed: readonly ListedChannel[],
): Pick<StatusReport, "heard" | "due" | "channels" | "fullest"> {
  const heard: Record<string, Date> = {};
  for (const { channel, heardAt } of overviews) {
    const { platform } = channel.address;
    const known = heard[platform];
    if (heardAt !== null && (known === undefined || heardAt > known)) heard[platform] = heardAt;
  }
  const waiting = overviews.filter(({ due }) => due > 0);
  const since = waiting
    .map(({ dueSince }) => dueSince)
    .reduce((first, at) => (first === null || (at !== null && at < first) ? at : first), null);
  return {
    heard,
    due: { messages: waiting.reduce((sum, { due }) => sum + due, 0), channels: waiting.length, since },
    channels: overviews.length,
    fullest: sortChannels(listed, "level")
      .filter(({ level }) => level !== null)
      .slice(0, MOST_FULLEST),
  };
}

export function formatStatus(
  report: StatusReport,
  features: readonly WaitingFeature[],
  time: TimeFormat,
  now: Date,
): string {
  const at = (date: Date): string => `${time.minute(date)} (${ago(date, now)})`;
  const { waiting, due, fullest, channels } = report;
  const { running, ahead, redo } = waiting.compactions;
  const oldest = (since: Date | null): string => sinceWords(since, at);
  const lines: (readonly [string, string])[] = [
    ...daemonLines(report, at, now),
    [
      "messages",
      due.messages === 0
        ? "none waits for an answer"
        : `${counted(due.messages, "message")} in ${counted(due.channels, "channel")} ${due.messages === 1 ? "waits" : "wait"} for an answer${sinceWords(due.since, at)}`,
    ],
    ["answers", describeDeliveries(waiting)],
    [
      "compactions",
      `${formatNumber(running)} under way, ${formatNumber(ahead)} written ahead, ${counted(redo, "summary", "summaries")} to be written again`,
    ],
    ...features.map((one) => [one.name, one.line(time, oldest)] as const),
    ["channels", formatNumber(channels)],
    ...fullest.map((one, index): readonly [string, string] => [
      index === 0 ? "fullest" : "",
      `${formatLevel(one.level).padStart(5)}  ${displayableLine(one.channel)}, at its last answer`,
    ]),
  ];
  return lines.map(([what, text]) => `${what.padEnd(11)}  ${text}`.trimEnd()).join("\n");
}

function describeDeliveries({ deliveries, refused }: Waiting): string {
  const lost = refused === 0 ? "" : `${counted(refused, "part")} refused by the platform in the last day`;
  if (deliveries > 0)
    return [`${counted(deliveries, "part")} to be delivered`, lost].filter(Boolean).join("; ");
  return lost === "" ? "all delivered" : lost;
}

function sinceWords(since: Date | null, at: (date: Date) => string): string {
  return since === null ? "" : `, the oldest since ${at(since)}`;
}

const PHASES = { starting: "starts", serving: "runs", draining: "ends" } as const;

function daemonLines(
  { daemon, connected, page, heard }: StatusReport,
  at: (date: Date) => string,
  now: Date,
): (readonly [string, string])[] {
  const heardAt = (platform: string): string => {
    const last = heard[platform];
    return `last heard ${last === undefined ? "never" : at(last)}`;
  };
  if (daemon === null) {
    const none = connected === null;
    return [
      [
        "daemon",
        none
          ? "none runs"
          : `a Weir (${connected}) is connected and does not answer: it starts, ends, is of an older version, or is a command at work`,
      ],
      ...Object.keys(heard).map((name): readonly [string, string] => [displayableLine(name), heardAt(name)]),
    ];
  }
  const { version, pid, host, startedAt, phase } = daemon;
  const failing = new Set(daemon.circuits.map(({ model }) => model));
  return [
    [
      "daemon",
      `Weir ${version} ${PHASES[phase]}: process ${pid} on ${host}, since ${at(startedAt)}, ${counted(daemon.channels, "channel")} in memory`,
    ],
    ...(daemon.cluster === undefined
      ? []
      : [
          ["cluster", `${displayableLine(daemon.cluster.name)}: ${describeCluster(daemon.cluster)}`] as const,
        ]),
    ...configurationLines(daemon, at),
    ...daemon.platforms.map(({ name, connection }): readonly [string, string] => [
      displayableLine(name),
      `${displayableLine(describeConnection(connection, at))}; ${heardAt(name)}`,
    ]),
    ...(daemon.log === undefined ? [] : [["log", displayableLine(daemon.log)] as const]),
    ...(page === null ? [] : [["page", `${page}: \`${weirCommand("open")}\` opens it`] as const]),
    ["models", daemon.server],
    ...daemon.calls.map((call): readonly [string, string] => {
      const outage = describeOutage(call);
      const down = outage === null ? "" : `; ${outage}`;
      const circuit = failing.has(call.model) ? "" : ", circuit closed";
      return ["", `${displayableLine(call.model)}: ${call.outcome} ${ago(call.at, now)}${circuit}${down}`];
    }),
    ...daemon.circuits.map((circuit): readonly [string, string] => [
      "",
      `${displayableLine(circuit.model)}: ${describeCircuit(circuit)}`,
    ]),
    ...daemon.budgets.map((purse, index): readonly [string, string] => [
      index === 0 ? "budgets" : "",
      `${purse.scope} ${displayableLine(purse.of)}${purse.scope === "agent" ? "" : `, with ${purse.agent}`}: ${describePurse(purse)} today${purse.isSpent ? ": spent" : ""}`,
    ]),
  ];
}

/** Empty if the file is active as it was at the start. */
function configurationLines(
  { configuration }: Pick<DaemonStatus, "configuration">,
  at: (date: Date) => string,
): (readonly [string, string])[] {
  if (configuration === undefined) return [];
  const { reloadedAt, atStart } = configuration;
  const refusal = describeRefusal(configuration, at);
  const texts = [
    ...(refusal === null ? [] : [displayableLine(refusal)]),
    ...(reloadedAt === null ? [] : [`reloaded at ${at(reloadedAt)}`]),
    ...(atStart.length === 0
      ? []
      : [displayableLine(`takes effect at the next start: ${atStart.join(", ")}`)]),
  ];
  return texts.map((text, index) => [index === 0 ? "config" : "", text]);
}

/** `5 min ago`; clocks of two machines differ. */
function ago(date: Date, now: Date): string {
  return `${formatSpan(Math.max(0, now.getTime() - date.getTime()))} ago`;
}
