import type { Asker } from "../../src/platforms/platform.ts";
import type { TestWeir } from "./weir.ts";

export const ANN: Asker = { id: "u-ann", name: "Ann", roles: [] };
export const BEN: Asker = { id: "u-ben", name: "Ben", roles: [] };

/** Somebody gives a command, as they would type it. @returns the answer */
export async function command(
  weir: TestWeir,
  room: string,
  typed: string,
  asker: Asker = ANN,
  platform = "test",
): Promise<string> {
  const [name = "", ...rest] = typed.replace(/^\//, "").split(" ");
  return weir.daemon.inbox.command({
    channel: { platform, name: room },
    name,
    argument: rest.join(" "),
    asker,
  });
}

/** The author of a message, by who gives a command. */
export function authorOf({ id, name }: Asker): { id: string; name: string; isBot: boolean } {
  return { id, name, isBot: false };
}
