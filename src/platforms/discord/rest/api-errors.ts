import { GatewayCloseCodes } from "discord.js";
import { OperatorError } from "../../../core/errors.ts";

const PORTAL = "https://discord.com/developers/applications";

export const WRONG_TOKEN = `Discord does not know the token. Copy the bot's token anew: ${PORTAL} → your application → Bot → Reset Token, and set DISCORD_TOKEN.`;
export const MISSING_INTENT = `Discord does not let the bot read messages. Switch on ${PORTAL} → your application → Bot → Privileged Gateway Intents → Message Content Intent.`;

const TOO_OLD = "Discord does not speak any more as this Weir does: update Weir.";
const TOO_MANY = "The bot is in more servers than one connection of Discord's can serve.";

const REFUSALS: ReadonlyMap<number, string> = new Map([
  [GatewayCloseCodes.AuthenticationFailed, WRONG_TOKEN],
  [GatewayCloseCodes.DisallowedIntents, MISSING_INTENT],
  [GatewayCloseCodes.InvalidIntents, TOO_OLD],
  [GatewayCloseCodes.InvalidAPIVersion, TOO_OLD],
  [GatewayCloseCodes.ShardingRequired, TOO_MANY],
  [GatewayCloseCodes.InvalidShard, TOO_MANY],
]);

/** The operator's error for a connection's close code; null: nothing for an operator to fix. Pure. */
export function refusalOf(code: number): OperatorError | null {
  const words = REFUSALS.get(code);
  return words === undefined ? null : new OperatorError(words);
}
