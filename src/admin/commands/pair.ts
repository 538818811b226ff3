import { type PairingDesk, describeStranger } from "../../router/pairing/pairing-desk.ts";
import { chatPlatform } from "../../platforms/platforms.ts";
import type { InboundCommand } from "../../platforms/platform.ts";
import { CODE_VALID_MS, type PairingRequest } from "../../store/channels/pairing.ts";
import type { CommandRule, Typed } from "./command-rule.ts";
import { forOwners, isNamedOwner, type OwnersConfig } from "./permissions.ts";

/** It needs no channel in the log: an owner may never have spoken to the bot. */
export const PAIR: CommandRule = {
  name: "pair",
  help: "let somebody in who was told a code, or see who waits",
  argument: { name: "code", form: "CODE", help: "the code that they were told" },
  allowed: "owners",
};

interface PairParts {
  readonly pairing: Pick<PairingDesk, "letIn" | "open">;
  readonly owners: OwnersConfig;
}

/**
 * `/pair CODE`, `/pair`.
 * @param workspace id of the server or team; empty: there is no server, or it is unknown
 */
export async function pair(
  { pairing, owners }: PairParts,
  { channel, argument, asker, said, where }: InboundCommand,
  { workspace, typed }: { readonly workspace: string; readonly typed: Typed },
): Promise<string> {
  const { platform } = channel;
  if (!isNamedOwner(asker, { platform, workspace }, owners)) return forOwners(typed(PAIR.name), platform);
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

/** The answer to a code without a request. */
export const NO_SUCH_CODE = `Nobody waits with this code. A code is valid for ${CODE_VALID_MS / 60_000} minutes, and once.`;

/** The waiting requests, one a line. Pure. */
export function listRequests(requests: readonly PairingRequest[], typed: Typed): string {
  if (requests.length === 0) return "Nobody waits to be let in.";
  return requests
    .map((one) => `${describeStranger(one)}: ${typed(`${PAIR.name} ${one.code}`)} lets them in.`)
    .join("\n");
}
