import type { Ledger } from "../ledger.ts";
import { answersIn, linesIn } from "../prompt.ts";
import { type Arrival, firstRaw, isStill, type PromptCheck } from "./prompt-check.ts";

/** What is raw a turn's prompt shows once, and what is covered or omitted not at all. */
export const checkI1View: PromptCheck = (arrival, ledger) => {
  if (!arrival.isSole) return [];
  const { prompt } = arrival;
  const shown = [...linesIn(prompt), ...answersIn(prompt)];
  const twice = shown.filter((one, index) => shown.indexOf(one) !== index);
  const wrong = twice.map((one) => `the prompt shows ${one} twice`);
  return isStill(arrival) ? [...wrong, ...leftBehind(shown, arrival, ledger)] : wrong;
};

function leftBehind(shown: readonly string[], { state }: Arrival, ledger: Ledger): string[] {
  const first = firstRaw(state);
  return shown.flatMap((one) => {
    const seq = ledger.byMarker.get(one)?.seq ?? ledger.answers.get(one)?.seq ?? first;
    return seq < first ? [`the prompt shows entry ${seq} (${one}), the raw ones begin at ${first}`] : [];
  });
}
