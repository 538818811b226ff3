import { nearestName } from "../../../config/nearest-name.ts";
import type { PlatformCommand } from "../../platform.ts";
import { SESSION_COMMANDS } from "./typed-line.ts";

/** The whole lines that a begun line may become: commands, and the fixed words of their arguments. Pure. */
export function completionsOf(line: string, commands: readonly PlatformCommand[]): string[] {
  const own = new Set(SESSION_COMMANDS.map(({ name }) => name));
  const known = [...commands.filter(({ name }) => !own.has(name)), ...SESSION_COMMANDS];
  if (/^\/[\w-]*$/.test(line)) {
    const names = known.map(({ name, argument }) => (argument === null ? `/${name}` : `/${name} `));
    return names.filter((word) => word.startsWith(line)).toSorted();
  }
  const [, name, begun = ""] = /^\/([\w-]+) ([^\s]*)$/.exec(line) ?? [];
  const argument = known.find((command) => command.name === name)?.argument ?? null;
  if (argument === null) return [];
  return wordsOf(argument.form)
    .filter((word) => word.startsWith(begun))
    .map((word) => `/${name} ${word}`);
}

/** The words that begin the forms of an argument: `list` and `detail` of `list | detail KEY`. */
function wordsOf(form: string): string[] {
  const words = form.split("|").map((one) => one.trim().split(" ")[0] ?? "");
  return [...new Set(words.filter((word) => /^[a-z]+$/.test(word)))];
}

/** The terminal's own command closest to an unknown name; null: no command is close. */
export function nearestSessionCommand(name: string, commands: readonly PlatformCommand[]): string | null {
  const own = SESSION_COMMANDS.map((command) => command.name);
  const shared = commands.map((command) => command.name);
  if (shared.includes(name) || own.includes(name)) return null;
  const near = nearestName(name, [...shared, ...own]);
  return near !== null && own.includes(near) ? near : null;
}
