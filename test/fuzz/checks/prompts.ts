import type { Ledger } from "../ledger.ts";
import { checkI1View } from "./i1-view.ts";
import { checkI2Answers, checkI2Omission, checkI2View } from "./i2-view.ts";
import { checkI5 } from "./i5-pairs.ts";
import { checkI6 } from "./i6-fits.ts";
import { checkI7 } from "./i7-prefix.ts";
import type { Arrival, PromptCheck } from "./prompt-check.ts";
import { checkI12Prompt, checkScope } from "./i12-deleted.ts";

const CHECKS: readonly (readonly [string, PromptCheck])[] = [
  ["I1", checkI1View],
  ["I2", checkI2View],
  ["I2", checkI2Answers],
  ["I2", checkI2Omission],
  ["I5", checkI5],
  ["I6", checkI6],
  ["I7", checkI7],
  ["I12", checkI12Prompt],
  ["I12", checkScope],
];

export function checkPrompt(arrival: Arrival, ledger: Ledger): void {
  for (const [invariant, check] of CHECKS) {
    for (const what of check(arrival, ledger)) ledger.violate(invariant, what);
  }
  const { prompt, order, before, at } = arrival;
  if (order < (ledger.lastPrompt?.order ?? 0)) return;
  ledger.lastPrompt = arrival.isSole ? { prompt, order, before, at, editing: new Set(ledger.editing) } : null;
}
