import { NOBODY_HOME, resetAtHome } from "../requests/at-home.ts";
import type { AskedCommand, Command, CommandParts } from "./command.ts";

export const resetCommand: Command = {
  name: "reset",
  help: "start again: the model sees nothing said so far; the log keeps it",
  argument: null,
  allowed: "owners",
  effect: "changes the conversation for everybody here",
  run: reset,
};

export const newCommand: Command = { ...resetCommand, name: "new", help: "as /reset" };

async function reset(parts: CommandParts, { channel, argument, typed }: AskedCommand): Promise<string> {
  // With an argument it may mean something different, and a reset cannot be undone.
  if (argument !== "") return `Nothing was reset: this is ${typed("reset")}, with nothing behind it.`;
  if (!(await resetAtHome(parts, channel.id))) return NOBODY_HOME;
  await parts.resetFeatures(channel.id);
  return "Reset: the model starts afresh here. The log keeps what was said; memories stay.";
}
