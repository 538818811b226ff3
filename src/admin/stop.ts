import { STOPPED } from "../platforms/platform.ts";
import type { AskedCommand, Command, CommandParts } from "./command.ts";

export const NOTHING_TO_STOP = "Nothing is being written just now.";

export const stopCommand: Command = {
  name: "stop",
  help: "end the answer that is being written",
  argument: null,
  allowed: "answered",
  run: stop,
};

async function stop({ registry }: CommandParts, { channel }: AskedCommand): Promise<string> {
  const isStopped = (await registry.inMemory(channel.id))?.stop() ?? false;
  return isStopped ? STOPPED : NOTHING_TO_STOP;
}
