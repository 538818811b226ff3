import { displayableLine } from "../text/displayable.ts";
import type { TimeFormat } from "../text/time.ts";
import { type DaemonStatus, describeConnection } from "./daemon-status.ts";

/** Names as the platforms write them. */
const TITLES: Readonly<Record<string, string>> = { discord: "Discord", slack: "Slack" };

export interface ChatFacts {
  readonly status: Pick<DaemonStatus, "server" | "platforms" | "pid" | "startedAt" | "version">;
  /** Where the log goes, in words. */
  readonly log: string;
  /** The chat is attached to a daemon that goes on without it. */
  readonly isAttached: boolean;
}

/** What whoever sits before a terminal may want to know of what is behind it, a line each. Pure. */
export function describeForChat({ status, log, isAttached }: ChatFacts, time: TimeFormat): string[] {
  const at = (date: Date): string => time.minute(date);
  const { version, pid, startedAt, server, platforms } = status;
  const facts: (readonly [string, string])[] = [
    ["models", server],
    ...platforms.flatMap(({ name, connection }): (readonly [string, string])[] =>
      connection === null ? [] : [[platformTitle(name), describeConnection(connection, at)]],
    ),
    ["log", log],
    ...(isAttached ? [["daemon", `Weir ${version}, process ${pid}, since ${at(startedAt)}`] as const] : []),
  ];
  const width = Math.max(...facts.map(([what]) => what.length));
  return facts.map(([what, text]) => displayableLine(`${what.padEnd(width)}  ${text}`));
}

function platformTitle(name: string): string {
  return TITLES[name] ?? name;
}
