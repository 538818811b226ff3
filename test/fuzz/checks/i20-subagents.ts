import type { Ledger } from "../ledger.ts";
import type { State } from "../observe.ts";
import type { SubagentRow } from "../subagent-rows.ts";
import type { RowCheck } from "./row-check.ts";

/** An agent is told once of each of its subagents how it ended, and then nothing is left of what it said. */
export const checkI20: RowCheck = (_, { subagents, entries }, ledger) => {
  const wrong: string[] = [];
  for (const { seq, tells, agent, message_id: id } of entries) {
    // What was told before is taken back, and told anew.
    const before = id?.endsWith("/again") === true ? id.slice(0, -"/again".length) : null;
    for (const number of tells) {
      const known = ledger.tellings.get(number) ?? new Set();
      if (before !== null)
        for (const one of known) if (ledger.entries.get(one)?.message_id === before) known.delete(one);
      ledger.tellings.set(number, known.add(seq));
      if (known.size > 1)
        wrong.push(`how subagent ${number} ended is told by the entries ${[...known].join(", ")}`);
      const whose = agentOf(
        subagents.find((one) => one.number === number),
        ledger,
      );
      if (whose !== agent)
        wrong.push(
          `entry ${seq} tells ${agent ?? "the own agent"} of subagent ${number}, which is ${whose ?? "the own agent"}'s`,
        );
    }
  }
  return [...wrong, ...subagents.flatMap((one) => faultsOf(one, ledger))];
};

/** Of the turn that has begun it. */
function agentOf(one: SubagentRow | undefined, { turns }: Ledger): string | null {
  return turns.get(one?.turn_id ?? 0)?.agent ?? null;
}

function faultsOf(one: SubagentRow, { subagents }: Ledger): string[] {
  const { id, number, task, result, closed } = one;
  const wrong: string[] = [];
  if (!subagents.has(id)) subagents.set(id, one);
  if (result.startsWith("The configuration has changed"))
    wrong.push(`subagent ${number} has ended: ${result}`);
  if (closed && task + result !== "")
    wrong.push(`subagent ${number} is closed, and its row tells "${task}${result}"`);
  return wrong;
}

/** Where nothing is left to do, an agent knows of each of its subagents how it ended, unless nobody waits for it. @returns what is wrong */
export function untold(state: State | null, { tellings }: Ledger): string[] {
  return (state?.subagents ?? []).flatMap(({ number, told, closed }) => {
    const times = tellings.get(number)?.size ?? 0;
    const isTold = told === "nobody" || times === 1;
    return closed && !isTold
      ? [`subagent ${number} is told by "${told}", and ${times} entries tell how it ended`]
      : [];
  });
}
