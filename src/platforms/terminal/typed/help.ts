import type { PlatformCommand } from "../../platform.ts";
import { AS, HELP, QUIT, RAW } from "./typed-line.ts";

function helpLine({ name, help, argument }: PlatformCommand): string {
  return `/${name}${argument === null ? "" : ` ${argument.form}`}  ${help}`;
}

/** The part of the whole help that is the session's own. */
export const SESSION_HELP = [
  "In this terminal there is more:",
  helpLine(AS),
  helpLine(QUIT),
  "//text  say something that starts with a slash",
].join("\n");

/** Further help for a screen with an editable line. */
export const SCREEN_HELP = [
  helpLine(RAW),
  'text\\  go on in the next line; """ begins and ends a text of several lines',
  "/export [FILE | print]  the conversation as Markdown, into a new file of this folder, or onto the screen",
  "Ctrl-C  end the answer, or clear the line; twice: leave",
].join("\n");

/** The first screen of the help: the common commands in two columns, and how to see the rest. */
export function firstHelp(commands: readonly PlatformCommand[]): string {
  const common = commands.filter(({ isCommon = false }) => isCommon);
  const rows = [
    ...[...common, QUIT].map(({ name, help }) => [`/${name}`, help] as const),
    [`/${HELP.name} all`, HELP.help] as const,
  ];
  const width = Math.max(...rows.map(([typed]) => typed.length));
  return rows.map(([typed, help]) => `${typed.padEnd(width)}  ${help}`).join("\n");
}
