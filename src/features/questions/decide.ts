import { channelId, type ChannelId } from "../../core/ids.ts";
import { canonicalArguments } from "../../tools/canonical-arguments.ts";
import { displayableLine } from "../../text/displayable.ts";
import { sliceWhole } from "../../text/text.ts";
import { type ActAsked, type ActOutcome, type ItemAct, OPERATOR_NAME } from "../feature.ts";
import { answeredBefore } from "./answer-command.ts";
import { choiceOf } from "./choice.ts";
import type { Questions } from "./key.ts";
import type { QuestionRow } from "./question.ts";
import type { Decider, WaitingQuestion } from "./question-store.ts";
import { outcomeOf } from "./question-text.ts";

export const LONGEST_REASON = 500;

export interface WantedDecision {
  readonly state: "allowed" | "denied";
  /** The tool may be used with these arguments from now on. */
  readonly isAlways: boolean;
  /** "": none. */
  readonly reason: string;
}

/** Decides about an approval, unless it was decided before. @throws WeirError if the database does not answer */
export async function decideFound(
  decide: Questions["decide"],
  channel: ChannelId,
  found: QuestionRow,
  { state, isAlways, reason }: WantedDecision,
  by: Decider,
): Promise<ActOutcome> {
  const { id } = found;
  if (found.state !== "open") return decidedBefore(found);
  const canonical = isAlways ? canonicalArguments(found.arguments) : null;
  const { isOurs, question } = await decide(channel, id, { state, by, canonical, reason });
  if (!isOurs) return decidedBefore(question ?? found);
  if (state === "denied") return { isDone: true, sentence: `Denied: #${id}.` };
  const always = isAlways ? ", and this tool with exactly these arguments from now on" : "";
  return { isDone: true, sentence: `Allowed: #${id}${always}.` };
}

function decidedBefore(approval: QuestionRow): ActOutcome {
  const { id, state } = approval;
  const sentence =
    state === "open" ? `#${id} has expired.` : `#${id} is decided already. ${outcomeOf(approval)}`;
  return { isDone: false, sentence };
}

/** How the operator names a question, and what may be done with it. @param isWhole all of the call is shown beside it */
export function questionActs(
  { channel, row }: WaitingQuestion,
  isWhole: boolean,
): { readonly id: string; readonly acts: readonly ItemAct[] } {
  const id = `${channel}/${row.id}`;
  if (row.kind === "choice") {
    const { choices = [] } = choiceOf(row) ?? {};
    return {
      id,
      acts: choices.map((one, index) => {
        return { name: `answer-${index + 1}`, label: `Answer ${index + 1}: ${displayableLine(one)}` };
      }),
    };
  }
  const deny: ItemAct = {
    name: "deny",
    label: "Deny",
    text: { label: "Reason, which the agent is told", maxLength: LONGEST_REASON },
  };
  // Nobody may allow what they have not read.
  if (!isWhole) return { id, acts: [deny] };
  return {
    id,
    acts: [
      { name: "approve", label: "Approve" },
      { name: "approve-always", label: "Approve always, with exactly these arguments" },
      deny,
    ],
  };
}

const NO_ACT: ActOutcome = { isDone: false, sentence: "That cannot be done with it." };
const OPERATOR: Decider = { id: null, name: OPERATOR_NAME };

/** Acts on a question for the operator, who may decide and answer everywhere, as at the terminal. */
export async function actOnQuestion(
  { store, decide, answer }: Questions,
  { item, act, text }: ActAsked,
): Promise<ActOutcome> {
  const [, channel = "", number = ""] = /^(\d{1,15})\/(\d{1,15})$/.exec(item) ?? [];
  const at = channelId(Number(channel));
  const found = number === "" ? null : await store.find(at, Number(number));
  const [, place] = /^answer-([1-9])$/.exec(act) ?? [];
  if (found === null) return { isDone: false, sentence: "There is no such question any more." };
  if (found.kind === "choice") {
    const choice = choiceOf(found);
    if (found.state !== "asked" || choice === null) return { isDone: false, sentence: answeredBefore(found) };
    const made = choice.choices[Number(place) - 1];
    if (made === undefined) return NO_ACT;
    const { isOurs, question } = await answer(at, found.id, { by: OPERATOR, text: made });
    return isOurs
      ? { isDone: true, sentence: `Answered: #${found.id}.` }
      : { isDone: false, sentence: answeredBefore(question ?? found) };
  }
  const isAlways = act === "approve-always";
  if (!(isAlways || act === "approve" || act === "deny")) return NO_ACT;
  const reason = sliceWhole(displayableLine(text).trim(), 0, LONGEST_REASON);
  const wanted: WantedDecision =
    act === "deny" ? { state: "denied", isAlways, reason } : { state: "allowed", isAlways, reason: "" };
  return decideFound(decide, at, found, wanted, OPERATOR);
}
