import { NOBODY_HOME, stopAtHome } from "../requests/at-home.ts";
import { STOPPED } from "../../platforms/platform.ts";
import type { AskedCommand, Command, CommandParts } from "./command.ts";

export const NOTHING_TO_STOP = "Nothing is being written just now.";

export const stopCommand: Command = {
  name: "stop",
  help: "end the answer that is being written",
  isCommon: true,
  argument: null,
  allowed: "answered",
  run: stop,
};

async function stop(parts: CommandParts, { channel }: AskedCommand): Promise<string> {
  const isStopped = await stopAtHome(parts, channel.id);
  if (isStopped === null) return NOBODY_HOME;
  return isStopped ? STOPPED : NOTHING_TO_STOP;
}
