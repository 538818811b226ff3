import type { Entry } from "../../core/entry.ts";
import { isCounted, legalCuts } from "../../core/history.ts";
import type { Seq } from "../../core/ids.ts";

export interface CutGoal {
  /** Smallest share of the raw counted entries that it covers. */
  readonly share: number;
  /** Estimated tokens of the request that it aims for. */
  readonly target: number;
  /** Fewest estimated tokens that it covers; default: any. */
  readonly least?: number;
}

export interface CutState {
  readonly entries: readonly Entry[];
  /** The last seq that may leave the view. */
  readonly lastCoverable: Seq;
  /** Estimated tokens of the request with the new summary and all of `entries`. */
  readonly tokens: number;
  readonly tokensOf: (entry: Entry) => number;
  /** Null: all entries that may leave. */
  readonly goal: CutGoal | null;
}

/** The raw entries up to `toSeq` leave the view. */
export interface Cut {
  readonly toSeq: Seq;
  /** Estimated tokens of the covered raw entries. */
  readonly tokens: number;
  /** Number of covered messages, calls and results. */
  readonly counted: number;
}

interface Candidate extends Cut {
  /** From its last entry to the next one, in milliseconds. */
  readonly silence: number;
}

/** Share by which later candidates may extend those up to the first good cut. */
const SILENCE_SHARE = 0.2;

/**
 * Chooses where the covered range ends: whole groups, until the goal is reached or only entries that must stay are
 * left.
 *
 * Among the first cut that reaches the goal and a fifth more candidates after it, the longest silence wins; of equal
 * silences, the later one. All of them reach the goal, so a pause in the talk never costs the share or the target.
 * @returns null: no whole group may leave
 */
export function chooseCut(state: CutState): Cut | null {
  const candidates = findCandidates(state);
  const first = state.goal === null ? -1 : firstReaching(candidates, state, state.goal);
  const window =
    first === -1
      ? candidates.slice(-1)
      : candidates.slice(first, first + 1 + Math.floor((first + 1) * SILENCE_SHARE));
  let best: Candidate | null = null;
  for (const candidate of window) {
    if (best === null || candidate.silence >= best.silence) best = candidate;
  }
  return best === null ? null : { toSeq: best.toSeq, tokens: best.tokens, counted: best.counted };
}

function firstReaching(candidates: readonly Candidate[], state: CutState, goal: CutGoal): number {
  const floor = state.entries.filter(isCounted).length * goal.share;
  return candidates.findIndex(
    ({ counted, tokens }) =>
      counted >= floor && state.tokens - tokens <= goal.target && tokens >= (goal.least ?? 0),
  );
}

/** Every legal cut that leaves the entries that must stay, oldest first. */
function findCandidates({ entries, lastCoverable, tokensOf }: CutState): Candidate[] {
  const cuts = legalCuts(entries);
  const candidates: Candidate[] = [];
  let tokens = 0;
  let counted = 0;
  for (const [index, entry] of entries.entries()) {
    if (entry.seq > lastCoverable) break;
    tokens += tokensOf(entry);
    counted += Number(isCounted(entry));
    const next = entries[index + 1];
    // Late messages may carry an earlier time than those before them.
    const silence = next === undefined ? 0 : Math.max(0, next.at.getTime() - entry.at.getTime());
    if (cuts.has(entry.seq)) candidates.push({ toSeq: entry.seq, tokens, counted, silence });
  }
  return candidates;
}
