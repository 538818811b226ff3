import { describeStranger } from "./pairing-desk.ts";
import { chatPlatform } from "../../platforms/platforms.ts";
import type { InboundCommand } from "../../platforms/platform.ts";
import { CODE_VALID_MS, type PairingRequest } from "./pairing-store.ts";
import type { Command, CommandParts, CommandPlace } from "../../admin/commands/command.ts";
import { PAIRING } from "./key.ts";
import { forOwners, isNamedOwner, type Typed } from "../../admin/commands/permissions.ts";

/** It needs no channel in the log: an owner may never have spoken to the bot. */
export const pairCommand: Command = {
  name: "pair",
  help: "let a stranger in by a code, or see who waits",
  argument: { name: "code", form: "CODE", help: "the code that they were told" },
  allowed: "owners",
  runAnywhere: pair,
};

async function pair(
  { serviceOf, owners }: CommandParts,
  { channel, argument, asker, said, where }: InboundCommand,
  { workspace, typed }: CommandPlace,
): Promise<string> {
  const pairing = serviceOf(PAIRING);
  const { platform } = channel;
  if (!isNamedOwner(asker, { platform, workspace }, owners))
    return forOwners(typed(pairCommand.name), platform);
  // The terminal's operator may decide for all platforms.
  const reach = chatPlatform(platform) ?? null;
  if (argument.trim() === "") {
    // Such an answer stands in the channel, for everybody.
    if (said !== undefined && where?.kind !== "dm" && reach !== null)
      return "Who waits to be let in, I say in direct messages only.";
    return listRequests(await pairing.open(reach), typed);
  }
  const done = await pairing.letIn(argument, reach, `${platform}:${asker.id}`);
  switch (done.outcome) {
    case "let_in":
      return `${describeStranger(done.request)} is let in, and is told so.`;
    case "too_often":
      return "That were too many wrong codes. Please try again in an hour.";
    case "unknown":
      return NO_SUCH_CODE;
  }
}

export const NO_SUCH_CODE = `Nobody waits with this code. A code is valid for ${CODE_VALID_MS / 60_000} minutes, and once.`;

export function listRequests(requests: readonly PairingRequest[], typed: Typed): string {
  if (requests.length === 0) return "Nobody waits to be let in.";
  return requests
    .map((one) => `${describeStranger(one)}: ${typed(`${pairCommand.name} ${one.code}`)} lets them in.`)
    .join("\n");
}
