import type { ConnectionState } from "../../platforms/platform.ts";
import { platformTitle } from "../../platforms/platforms.ts";
import { displayableLine } from "../../text/displayable.ts";
import type { TimeFormat } from "../../text/time.ts";
import { type DaemonStatus, describeConnection, whyNot } from "./daemon-status.ts";
import { weirCommand } from "../../files/installation.ts";

/** Facts that only the terminal of a chat knows: it shows them beside the daemon's report. */
export interface ChatPlace {
  /** Where Weir runs: in the process of the terminal, in a daemon, or in that of another chat, with which it ends. */
  readonly runs: "here" | "daemon" | "chat";
  /** The operator's folder. */
  readonly home: string;
  /** The daemon serves the page. */
  readonly hasPage: boolean;
}

/**
 * Facts about Weir for the person at a terminal, one a line. Pure.
 * @param place default: of a daemon, without its home and its page
 */
export function describeForChat(
  { version, pid, startedAt, server, platforms, log }: DaemonStatus,
  time: TimeFormat,
  place?: ChatPlace,
): string[] {
  const { runs = "daemon", home, hasPage = false } = place ?? {};
  const at = (date: Date): string => time.minute(date);
  const end = runs === "chat" ? "; it ends with that chat" : "";
  const facts: (readonly [string, string])[] = [
    ["models", server],
    ...platforms.flatMap(({ name, connection }): (readonly [string, string])[] =>
      connection === null ? [] : [[platformTitle(name), describeConnection(connection, at)]],
    ),
    ...(home === undefined ? [] : [["home", home] as const]),
    ...(log === undefined ? [] : [["log", log] as const]),
    ...(hasPage ? [["page", `\`${weirCommand("open")}\` prints its address`] as const] : []),
    ...(runs === "here"
      ? []
      : [[runs, `Weir ${version}, process ${pid}, since ${at(startedAt)}${end}`] as const]),
  ];
  const width = Math.max(...facts.map(([what]) => what.length));
  return facts.map(([what, text]) => displayableLine(`${what.padEnd(width)}  ${text}`));
}

/** `Discord is connected as weir in 3 servers.` Pure. */
export function describePlatform(
  platform: string,
  { kind, why, isOperators, as }: Pick<ConnectionState, "kind" | "why" | "isOperators" | "as">,
): string {
  const name = platformTitle(platform);
  switch (kind) {
    case "connecting":
      return `${name} is being connected.`;
    case "connected":
      return displayableLine(`${name} is connected${as === undefined ? "" : ` as ${as}`}.`);
    case "interrupted":
      return `${name} was cut off, and is being connected again.`;
    case "waiting": {
      const todo = isOperators
        ? `It is tried again, and you have to mend it: \`${weirCommand("doctor")}\`.`
        : "It is tried again.";
      return displayableLine(`${name} cannot be connected: ${whyNot({ why })}. ${todo}`);
    }
  }
}
