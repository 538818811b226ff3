import type { AgentConfig } from "../../../src/config/config.ts";
import type { Incarnation } from "../incarnation.ts";
import { MODEL } from "../profile.ts";
import { ANNEX_ROOM } from "../rooms.ts";
import type { PromptCheck } from "./prompt-check.ts";

/** The estimated prompt and the reserve fit the window; and what the server counts does, once it has told so. */
export const checkI6: PromptCheck = ({ prompt, incarnation, window }, ledger) => {
  const config = configOf(incarnation, ledger.name);
  const reserve = config.maxOutputTokens + config.generationReserve;
  // That an estimate is worth more than it says nobody knows before the server has counted.
  const isTold = prompt.model === MODEL && ledger.counted.has(incarnation);
  const tokens = Math.ceil(prompt.tokens * (isTold ? ledger.ratio : Math.min(1, ledger.ratio)));
  const wrong: string[] = [];
  if (tokens + reserve > window)
    wrong.push(
      `a prompt of ${tokens} ${isTold ? "real" : "estimated"} tokens and ${reserve} in a window of ${window}`,
    );
  if (prompt.maxOutputTokens > reserve)
    wrong.push(`an answer of ${prompt.maxOutputTokens} tokens is not reserved`);
  return wrong;
};

/** Tokens, as the incarnation believes now: a refusal may have taught it less than is configured. */
export function believedWindow(incarnation: Incarnation, room: string): number {
  const config = configOf(incarnation, room);
  return incarnation.models.windowOf(config.model, config.contextWindow);
}

function configOf({ profile }: Incarnation, room: string): AgentConfig {
  return room === ANNEX_ROOM ? profile.second : profile.config;
}
