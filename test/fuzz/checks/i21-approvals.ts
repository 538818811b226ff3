import { type QuestionState, questionOf as decisionOf } from "../../../src/features/questions/question.ts";
import type { ApprovalRow } from "../approval-rows.ts";
import { approvalOf } from "../deeds.ts";
import type { Ledger } from "../ledger.ts";
import type { EntryRow, State } from "../observe.ts";
import { agentIn } from "../rooms.ts";
import type { RowCheck } from "./row-check.ts";

/** What may become of an approval. Between two looks it may have taken several steps. */
const NEXT: Readonly<Record<QuestionState, readonly QuestionState[]>> = {
  open: ["allowed", "running", "done", "denied", "expired", "void"],
  allowed: ["running", "done", "void"],
  running: ["done"],
  done: [],
  denied: [],
  expired: [],
  void: [],
  // Choices, which are no approvals.
  asked: ["answered", "lapsed", "void"],
  answered: [],
  lapsed: [],
};

/** An approval is decided once; an allowed call is made once at most, and any other one never. */
export const checkI21: RowCheck = (before, { approvals, entries }, ledger) => {
  const known = new Map(before?.approvals.map((one) => [one.id, one]));
  return [
    ...approvals.flatMap((one) => faultsOf(one, known.get(one.id), ledger)),
    ...entries.flatMap((entry) => toldWrongly(entry, approvals, ledger)),
  ];
};

function faultsOf(
  { id, state, rules }: ApprovalRow,
  before: ApprovalRow | undefined,
  { deeds }: Ledger,
): string[] {
  const wrong: string[] = [];
  if (before !== undefined && before.state !== state && !NEXT[before.state].includes(state))
    wrong.push(`approval ${id} was ${before.state}, and is ${state}`);
  const mayBeDone = state === "running" || state === "done";
  if (!mayBeDone && deeds.timesByLook(id) > 0)
    wrong.push(`approval ${id} is ${state}, and its call was made`);
  if (rules && (state === "open" || state === "denied" || state === "expired"))
    wrong.push(`approval ${id} is ${state}, and allows calls from now on`);
  return wrong;
}

function toldWrongly(
  { seq, calls, asks, message_id: messageId, agent }: EntryRow,
  approvals: readonly ApprovalRow[],
  ledger: Ledger,
): string[] {
  const wrong: string[] = [];
  for (const id of calls.flatMap((call) => approvalOf(call) ?? [])) {
    if (ledger.madeCalls.has(id))
      wrong.push(`the call of approval ${id} stands in the log again, as entry ${seq}`);
    ledger.madeCalls.add(id);
  }
  for (const id of asks)
    if (!approvals.some((one) => one.id === id))
      wrong.push(`entry ${seq} waits for approval ${id}, which is not there`);
  const told = messageId === null ? null : decisionOf(messageId);
  const by = approvals.find(({ id }) => id === told)?.agent;
  const own = agentIn(ledger.name);
  if (by !== undefined && by !== (agent ?? own))
    wrong.push(`entry ${seq} tells ${agent ?? own} of approval ${told}, which ${by} has asked for`);
  return wrong;
}

/** Where nothing is left to do, each decision is told, what was allowed is run or void, and people see what is true. @returns what is wrong */
export function undecided(state: State | null): string[] {
  return (state?.approvals ?? []).flatMap(({ id, state: stage, told, outdated }) => {
    const isDecided = stage === "allowed" || stage === "denied" || stage === "expired";
    const wrong: string[] = [];
    if (isDecided && !told) wrong.push(`approval ${id} is ${stage}, and the log does not tell of it`);
    if (stage === "allowed" || stage === "running") wrong.push(`approval ${id} is ${stage}`);
    if (outdated !== null) wrong.push(`approval ${id} is ${stage}, and its question shows "${outdated}"`);
    return wrong;
  });
}
