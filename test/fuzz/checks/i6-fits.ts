import type { CompactionState } from "../../../src/compactor/policy/policy.ts";
import type { AgentConfig } from "../../../src/config/config.ts";
import type { Incarnation } from "../incarnation.ts";
import { MODEL, SECOND_AGENT } from "../profile.ts";
import { agentIn } from "../rooms.ts";
import { GUEST_COUNTS } from "../model-script.ts";
import type { Ledger } from "../ledger.ts";
import type { Prompt } from "../prompt.ts";
import type { PromptCheck } from "./prompt-check.ts";

/** A server counts whole tokens. */
const ROUNDING = 1.01;

/** The estimated prompt and the reserve fit the window; and what the server counts does, once it has told so. */
export const checkI6: PromptCheck = ({ prompt, incarnation, window, isGuest }, ledger) => {
  const config = configOf(incarnation, ledger.name, isGuest);
  const reserve = config.maxOutputTokens + config.generationReserve;
  // That an estimate is worth more than it says nobody knows before the server has counted.
  const isTold = prompt.model === MODEL && ledger.counted.has(incarnation);
  const ratio = isGuest ? ledger.ratio * GUEST_COUNTS : ledger.ratio;
  const tokens = Math.ceil(prompt.tokens * (isTold ? ratio : Math.min(1, ratio)));
  const wrong: string[] = [];
  if (tokens + reserve - inDoubt(prompt, isTold && !isGuest, ledger) > window)
    wrong.push(
      `a prompt of ${tokens} ${isTold ? "real" : "estimated"} tokens and ${reserve} in a window of ${window}`,
    );
  if (prompt.maxOutputTokens > reserve)
    wrong.push(`an answer of ${prompt.maxOutputTokens} tokens is not reserved`);
  return wrong;
};

/** Tokens, as the incarnation believes now: a refusal may have taught it less than is configured. */
export function believedWindow(incarnation: Incarnation, room: string, isGuest: boolean): number {
  const config = configOf(incarnation, room, isGuest);
  return incarnation.models.windowOf(config.model, config.contextWindow);
}

/**
 * Whatever a guest's requests count, the channel's own are believed to have no more room than the model's factor gives them: of
 * their own there is none that counts less than that.
 */
export function checkOwnRoom(
  incarnation: Incarnation,
  state: CompactionState,
  { name, ratio }: Ledger,
): string[] {
  if (ratio < 1) return [];
  const config = configOf(incarnation, name, false);
  const window = believedWindow(incarnation, name, false);
  const usable = window - Math.min(config.maxOutputTokens + config.generationReserve, Math.floor(window / 4));
  const most = usable / incarnation.models.factorOf(config.model);
  const room = state.tokenBudgetAt(1);
  return room > most * ROUNDING
    ? [`a request may have ${Math.round(room)} estimated tokens, and ${Math.round(most)} fit`]
    : [];
}

/**
 * What a guest's requests count teaches of the model is believed of all its requests: so what has come on top of the request that
 * was counted last may be more than it is taken for.
 */
function inDoubt({ by, tokens }: Prompt, isTold: boolean, { lastPrompts, ratio }: Ledger): number {
  const last = lastPrompts.get(by)?.prompt.tokens ?? 0;
  return isTold ? Math.ceil(Math.max(0, tokens - last) * ratio * (1 - GUEST_COUNTS)) : 0;
}

function configOf({ profile }: Incarnation, room: string, isGuest: boolean): AgentConfig {
  return agentIn(room) === SECOND_AGENT || isGuest ? profile.second : profile.config;
}
