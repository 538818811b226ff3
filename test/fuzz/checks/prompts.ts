import type { Incarnation } from "../incarnation.ts";
import type { Ledger, Versions } from "../ledger.ts";
import type { State } from "../observe.ts";
import type { Prompt } from "../prompt.ts";
import { checkI2View } from "./i2-view.ts";
import { checkI5 } from "./i5-pairs.ts";
import { checkI6 } from "./i6-fits.ts";
import { checkI7 } from "./i7-prefix.ts";
import { checkI12Prompt } from "./i12-deleted.ts";

/** A turn's prompt as it arrived at the model, with the rows of that moment. */
export interface Arrival {
  readonly prompt: Prompt;
  readonly incarnation: Incarnation;
  readonly state: State;
  readonly before: Versions;
  readonly at: Versions;
  /** The incarnation is the channel's only owner: no other one changes the rows behind its back. */
  readonly isSole: boolean;
  /** Markers whose deletion was acknowledged before the prompt arrived. */
  readonly gone: ReadonlySet<string>;
}

/** @returns what is wrong */
export type PromptCheck = (arrival: Arrival, ledger: Ledger) => string[];

const CHECKS: readonly (readonly [string, PromptCheck])[] = [
  ["I2", checkI2View],
  ["I5", checkI5],
  ["I6", checkI6],
  ["I7", checkI7],
  ["I12", checkI12Prompt],
];

export function checkPrompt(arrival: Arrival, ledger: Ledger): void {
  for (const [invariant, check] of CHECKS) {
    for (const what of check(arrival, ledger)) ledger.violate(invariant, what);
  }
  const { prompt, before, at } = arrival;
  ledger.lastPrompt = arrival.isSole ? { prompt, before, at } : null;
}
