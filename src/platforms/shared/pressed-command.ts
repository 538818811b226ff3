import type { MessageAction } from "../../core/message.ts";
import type { PlatformCommand } from "../platform.ts";

/**
 * A button carries its command as people would type it, so a press needs no memory, and is the same after a restart. Both
 * platforms hold 100 characters and more.
 */
const MARK = "weir/";

/** The value of a button. Pure. */
export function carried({ command, argument }: MessageAction): string {
  return `${MARK}${command} ${argument}`.trim();
}

/** The command of a press; null: there is no such command. Pure. */
export function commandOfPress(
  value: string,
  commands: readonly PlatformCommand[],
): { readonly name: string; readonly argument: string } | null {
  const match = /^weir\/([a-z]{1,32})(?: ([^\n]{1,100}))?$/.exec(value);
  const known = commands.find(({ name }) => name === match?.[1]);
  return known === undefined ? null : { name: known.name, argument: match?.[2] ?? "" };
}
