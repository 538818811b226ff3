import type { PlatformCommand } from "../../platforms/platform.ts";

/** A command as help lists it, and its permission. */
export interface CommandRule extends PlatformCommand {
  /** Who may run it among several people: everybody, the owners, or owners and the person being answered. */
  readonly allowed: "everybody" | "owners" | "answered";
  /** Why others may not; follows the command's name. */
  readonly effect?: string;
}

/** A command as people type it there: `forget 1` is `/forget 1`, `/weir forget 1` or `@weir /forget 1`. */
export type Typed = (command: string) => string;

/** @param prefix the text before a command's name */
export function typedWith(prefix: string): Typed {
  return (command) => prefix + command;
}
