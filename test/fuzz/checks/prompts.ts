import type { Ledger } from "../ledger.ts";
import { checkGuestView } from "./guest-view.ts";
import { checkI1View } from "./i1-view.ts";
import { checkI2Answers, checkI2Omission, checkI2View } from "./i2-view.ts";
import { checkI5 } from "./i5-pairs.ts";
import { checkI6 } from "./i6-fits.ts";
import { checkI7 } from "./i7-prefix.ts";
import { checkI19Prompt } from "./i19-one-agent.ts";
import type { Arrival, PromptCheck } from "./prompt-check.ts";
import { checkI12Prompt, checkScope } from "./i12-deleted.ts";

type Check = readonly [string, PromptCheck];

/** How the channel's own agent is shown its channel. */
const OWN_VIEW: readonly Check[] = [
  ["I1", checkI1View],
  ["I2", checkI2View],
  ["I2", checkI2Answers],
  ["I2", checkI2Omission],
];

const GUEST_VIEW: readonly Check[] = [["I2", checkGuestView]];

/** What holds from one request to the next, and by the channel's rows. */
const VIEW: readonly Check[] = [["I7", checkI7]];

const CHECKS: readonly Check[] = [
  ["I5", checkI5],
  ["I6", checkI6],
  ["I12", checkI12Prompt],
  ["I12", checkScope],
  ["I19", checkI19Prompt],
];

export function checkPrompt(arrival: Arrival, ledger: Ledger): void {
  const view = [...(arrival.isGuest ? GUEST_VIEW : OWN_VIEW), ...VIEW];
  for (const [invariant, check] of [...(arrival.isForOneCall ? [] : view), ...CHECKS]) {
    for (const what of check(arrival, ledger)) ledger.violate(invariant, what);
  }
  if (arrival.isForOneCall) return;
  const { prompt, order, before, at } = arrival;
  if (order < (ledger.lastPrompts.get(prompt.by)?.order ?? 0)) return;
  if (!arrival.isSole) ledger.lastPrompts.clear();
  else
    ledger.lastPrompts.set(prompt.by, {
      prompt,
      turn: arrival.state.running?.id ?? null,
      order,
      before,
      at,
      editing: new Set(ledger.editing),
      edits: ledger.edits,
    });
}
