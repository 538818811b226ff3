import { answerText, type CommandAnswer } from "../../src/core/card.ts";
import type { Asker } from "../../src/platforms/platform.ts";
import type { TestWeir } from "./weir.ts";

export const ANN: Asker = { id: "u-ann", name: "Ann", roles: [] };
export const BEN: Asker = { id: "u-ben", name: "Ben", roles: [] };

/** A person types a command. @returns the answer */
export async function command(
  weir: TestWeir,
  room: string,
  typed: string,
  asker: Asker = ANN,
  platform = "test",
): Promise<string> {
  return answerText(await commandAnswer(weir, room, typed, asker, platform));
}

/** The same, as the platform receives it. */
export async function commandAnswer(
  weir: TestWeir,
  room: string,
  typed: string,
  asker: Asker = ANN,
  platform = "test",
): Promise<CommandAnswer> {
  const [name = "", ...rest] = typed.replace(/^\//, "").split(" ");
  const channel = { platform, name: room };
  return weir.daemon.inbox.command({ channel, name, argument: rest.join(" "), asker });
}

/** The author of a message, by the asker of a command. */
export function authorOf({ id, name }: Asker): { id: string; name: string; isBot: boolean } {
  return { id, name, isBot: false };
}
