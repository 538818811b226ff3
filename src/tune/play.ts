import type { LineRange } from "../store/search/spoken-lines.ts";
import { TimeSlice } from "../async/cooperative.ts";
import type { Entry, EntryReference } from "../core/entry.ts";
import { namingOnly } from "../core/memory.ts";
import type { Store } from "../store/store.ts";
import type { PastTurn } from "../store/turns/past.ts";
import type { ReplayedTurn, Simulation } from "./simulation.ts";

/** Entries per read. */
const PAGE = 500;

export interface Played extends LineRange {
  readonly store: Pick<Store, "log" | "past">;
  /** All of its settled turns whose last message is among from..to, in the order of their beginning. */
  readonly turns: readonly PastTurn[];
  readonly signal: AbortSignal;
  readonly onEntry: () => void;
}

/**
 * Replays a channel's log through several simulations at once, page by page. It only reads.
 * @returns false: the signal has stopped it, and the simulations are incomplete
 */
export async function playLog(simulations: readonly Simulation[], played: Played): Promise<boolean> {
  const { store, channel, from, to, signal, onEntry } = played;
  const slice = new TimeSlice();
  let next = 0;
  for (let first = from; first <= to; first += PAGE) {
    const last = Math.min(to, first + PAGE - 1);
    const entries = await store.log.read(channel, first, last);
    const until = played.turns.findIndex(({ toSeq }, index) => index >= next && toSeq > last);
    const end = until < 0 ? played.turns.length : until;
    const turns = await withRecalled(played, played.turns.slice(next, end));
    next = end;
    for (const simulation of simulations) simulation.expect(turns);
    slice.beginAnew();
    for (const entry of entries) {
      for (const simulation of simulations) {
        if (signal.aborted) return false;
        simulation.take(entry);
        if (slice.isOver) await slice.next();
      }
      onEntry();
    }
  }
  for (const simulation of simulations) simulation.end();
  return true;
}

/** Adds the results of their searches with current texts: deleted or forgotten ones are missing. */
async function withRecalled(
  { store, channel }: Pick<Played, "store" | "channel">,
  turns: readonly PastTurn[],
): Promise<ReplayedTurn[]> {
  const seqs = [...new Set(turns.flatMap(({ recalled }) => recalled.entries))];
  const ids = [...new Set(turns.flatMap(({ recalled }) => recalled.memories))];
  const [entries, statements] = await Promise.all([
    seqs.length === 0 ? [] : store.log.readAt(channel, seqs),
    store.past.statements(channel, ids),
  ]);
  const bySeq = new Map(entries.map((entry) => [entry.seq, toReference(entry)]));
  return turns.map((turn) => ({
    turn,
    recalled: turn.recalled.entries.flatMap((seq) => bySeq.get(seq) ?? []),
    remembered: turn.recalled.memories.flatMap((id, _, shown) => {
      const memory = statements.get(id);
      return memory === undefined ? [] : namingOnly(memory, shown);
    }),
  }));
}

function toReference(entry: Entry): EntryReference {
  const { seq, at, deleted, text } = entry;
  const author = entry.kind === "user" ? entry.author.name : "you";
  return { seq, at, author, text: deleted ? null : text };
}
