import type { ModelRequest } from "../../../src/llm/model.ts";
import type { Database } from "../../../src/store/database/database.ts";
import type { Ledger } from "../ledger.ts";
import { estimateRequest, markersIn } from "../prompt.ts";
import type { Room } from "../rooms.ts";

/** A subagent's request as it arrived. */
interface Arrival {
  readonly request: ModelRequest;
  readonly task: string;
  readonly isSole: boolean;
}

/**
 * Before its model is asked, a subagent is a row that runs, and its model is shown what it has done so far. What has ended one
 * meanwhile leaves nothing by which it is known.
 */
export async function subagentFaults(
  db: Database,
  { request, task, isSole }: Arrival,
  { id, ledger }: Room,
): Promise<string[]> {
  const rows = await db.query<{ id: number; task: string; turn: number; state: string; steps: number }>(
    "fuzz_subagents_of_task",
    "select id, task, turn_id as turn, state, jsonb_array_length(steps) as steps from subagents where channel_id = $1 and (task = $2 or task = '')",
    [id, task],
  );
  const isKnown = rows.some(
    (row) =>
      row.task === task || !ledger.subagents.has(row.id) || ledger.subagents.get(row.id)?.task === task,
  );
  for (const row of rows.filter((one) => one.task === task)) {
    const key = `${row.turn} ${task}`;
    const before = ledger.begun.get(key) ?? row.id;
    // What has read a text that was taken back goes on no more, and its turn may begin another one.
    const isVoid = rows.some(({ id: other, state }) => other === before && state === "void");
    const known = isVoid ? row.id : before;
    ledger.begun.set(key, known);
    if (known !== row.id) return [`turn ${row.turn} has begun two subagents to "${task}"`];
  }
  if (!isSole) return [];
  const shown = request.messages.filter(({ role }) => role === "assistant").length;
  const done = rows.find((row) => row.task === task)?.steps ?? 0;
  if (shown < done && !mayLeaveOut(request))
    return [`a model that has made ${done} steps of "${task}" is shown ${shown}`];
  return isKnown ? [] : [`a model is asked to "${task}", and no row says that it runs`];
}

/** Where not even the shortened steps fit a window, the oldest are left out: the smallest window has room for more than this. */
const LEAST_ROOM = 1200;
const LONGEST_SHORT = 400;

function mayLeaveOut(request: ModelRequest): boolean {
  const results = request.messages.filter(({ role }) => role === "tool");
  return estimateRequest(request) >= LEAST_ROOM && results.every(({ text }) => text.length <= LONGEST_SHORT);
}

/** It is shown nothing that was taken back before, and nothing that another channel said. */
export function shownToSubagent(
  { messages }: ModelRequest,
  isSole: boolean,
  { own, goneBefore }: Ledger,
): string[] {
  const markers = [...markersIn(messages)];
  const foreign = markers.filter((marker) => !own.has(marker));
  const deleted = isSole ? markers.filter((marker) => goneBefore.has(marker)) : [];
  return [
    ...(foreign.length === 0 ? [] : [`a subagent is shown what another channel said: ${foreign.join(", ")}`]),
    ...(deleted.length === 0 ? [] : [`a subagent is shown deleted text: ${deleted.join(", ")}`]),
  ];
}
