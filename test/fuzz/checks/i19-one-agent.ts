import type { Ledger } from "../ledger.ts";
import type { EntryRow, TurnRow } from "../observe.ts";
import { nameOf } from "../profile.ts";
import { agentIn } from "../rooms.ts";
import type { PromptCheck } from "./prompt-check.ts";
import type { RowCheck } from "./row-check.ts";

/** So often a question is handed on at most. */
const MOST_HOPS = 4;

/** A turn is one agent's: what it answers is meant for that agent, and what it writes that agent writes (but a notice, which is Weir's). */
export const checkI19: RowCheck = (_, { entries, turns }, ledger) => {
  const wrong = turns.flatMap((turn) => [
    ...mixed(turn, ledger),
    ...ledger.turns
      .values()
      .filter(({ id, to_seq: to }) => id < turn.id && to >= turn.from_seq)
      .map(({ id }) => `turn ${turn.id} answers from ${turn.from_seq} on, as turn ${id} does`),
  ]);
  return [...wrong, ...entries.flatMap((entry) => handedWrongly(entry, ledger))];
};

function mixed({ id, from_seq: from, to_seq: to, agent, reason }: TurnRow, ledger: Ledger): string[] {
  // Nobody answers what a reset goes over.
  if (reason === "reset") return [];
  const asked = entriesIn(from, to, ledger).filter(({ addressed }) => addressed);
  const written = entriesIn(to + 1, ledger.entries.size, ledger).filter(
    ({ turn_id: turn, kind }) => turn === id && kind !== "notice",
  );
  return [...asked, ...written]
    .filter((entry) => entry.agent !== agent)
    .map(
      (entry) =>
        `turn ${id} is ${told(agent)}'s, and its entry ${entry.seq} (${entry.kind}) is ${told(entry.agent)}'s`,
    );
}

/** What is handed over is there with its turn's end, once, and is one hop further than what the turn answers. */
function handedWrongly({ seq, message_id: id, chain, agent }: EntryRow, ledger: Ledger): string[] {
  if (chain === null || id === null) return [];
  const turn = ledger.turns.get(Number(id.split("/")[1]));
  if (turn === undefined) return [`${id} was handed over by no turn`];
  const wrong: string[] = [];
  if (turn.state !== "answered" && turn.state !== "skipped")
    wrong.push(`${id} was handed over, and its turn is ${turn.state}`);
  if (turn.agent === agent) wrong.push(`${id} was handed over by ${told(agent)} to itself`);
  const asked = entriesIn(turn.from_seq, turn.to_seq, ledger).filter(({ addressed }) => addressed);
  const anew = asked.flatMap((entry) => ledger.byMessageId.get(entry.message_id ?? "") ?? []);
  const before = asked.findLast((entry) => entry.chain !== null)?.chain;
  const first = { id: turn.id, hop: 1 };
  const next = before == null ? first : { id: before.id, hop: before.hop + 1 };
  const wanted = anew.length > 0 ? first : next;
  // A message that was deleted before the turn began asked for nothing.
  const isLeft = anew.some(({ marker }) => !ledger.leaving.has(marker));
  const allowed = anew.length > 0 && !isLeft ? [first, next] : [wanted];
  if (!allowed.some((one) => chain.id === one.id && chain.hop === one.hop) || chain.hop > MOST_HOPS)
    wrong.push(
      `${id} (entry ${seq}) is hop ${chain.hop} of ${chain.id}, and not ${wanted.hop} of ${wanted.id}`,
    );
  return wrong;
}

function entriesIn(from: number, to: number, { entries }: Ledger): EntryRow[] {
  const found: EntryRow[] = [];
  for (let seq = from; seq <= to; seq++) {
    const entry = entries.get(seq);
    if (entry !== undefined) found.push(entry);
  }
  return found;
}

/** A request is of the agent whose turn it is. */
export const checkI19Prompt: PromptCheck = ({ prompt, state: { running, channel }, isSole }, ledger) => {
  if (!isSole || running === null || running.epoch !== channel.epoch) return [];
  const wanted = nameOf(running.agent ?? agentIn(ledger.name));
  return prompt.by === wanted ? [] : [`the turn is ${wanted}'s, and ${prompt.by}'s model is asked`];
};

function told(agent: string | null): string {
  return agent ?? "the channel's own agent";
}
