/** Read by a daemon before anything else, where a scene says so: builds in the mistake of WEIR_CHAOS_MUTANT, which the checks have to find. */
/* oxlint-disable typescript/unbound-method -- what a mistake replaces is called with its own `this` */
import process from "node:process";
import { TurnContexts } from "../../src/turn/turn-contexts.ts";

export type MutantName = "the view of a smaller try stays";

const MISTAKES: Readonly<Record<MutantName, () => void>> = {
  "the view of a smaller try stays": keepSmallerView,
};

const chosen = Object.entries(MISTAKES).find(([name]) => name === process.env["WEIR_CHAOS_MUTANT"]);
if (chosen === undefined) throw new Error("there is no such mutant");
chosen[1]();

/** What was left out for one call is left out of all that follow, and no omission says so. */
function keepSmallerView(): void {
  const { fitOnce, fitForGood } = TurnContexts.prototype;
  let smallest = Infinity;
  TurnContexts.prototype.fitOnce = async function noted(model, own, window) {
    smallest = Math.min(smallest, window);
    return fitOnce.call(this, model, own, window);
  };
  TurnContexts.prototype.fitForGood = async function fitSmall(name) {
    const small = smallest === Infinity ? null : await fitOnce.call(this, name, name, smallest);
    return small ?? fitForGood.call(this, name);
  };
}
