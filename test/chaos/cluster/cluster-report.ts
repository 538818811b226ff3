import { quantile } from "../../../bench/support/figure.ts";

/**
 * What is wrong with a run. `ended`: it could not go on. `homeless`, `unwoken`: others took over, or were woken, far later than on a
 * machine that is only busy. `slow`: it took longer than it should, by the clock alone.
 */
export type ClusterProblemKind = "lost" | "doubled" | "wrong" | "ended" | "homeless" | "unwoken" | "slow";

export interface ClusterProblem {
  readonly kind: ClusterProblemKind;
  readonly what: string;
}

/** These break no rule. */
const LATE: ReadonlySet<ClusterProblemKind> = new Set(["homeless", "unwoken", "slow"]);

/** What came of a run. Times in ms. */
export class ClusterReport {
  readonly problems: ClusterProblem[] = [];
  /** Faults by name. */
  readonly faults = new Map<string, number>();
  messages = 0;
  turns = 0;
  calls = 0;
  /** Calls of the model beyond one a turn, and how many there may be. */
  paidTwice = 0;
  paidTwiceAtMost = 0;
  sorry = 0;
  /** From a kill to the first call of the model for each channel that was due. */
  takeoverMs: number[] = [];
  /** From each kill until others had taken each of its partitions. */
  takenMs: number[][] = [];
  /** From a kill until others had taken the channels that were due. */
  channelMs: number[] = [];
  /** From a message to its whole answer without what the model takes, where all is well: said at its channel's home, and across daemons. */
  readonly homeMs: number[] = [];
  readonly acrossMs: number[] = [];
  /** From the readiness of one that joins until the shares are even. */
  readonly evenMs: number[] = [];
  /** From the start of a broker that was killed until each partition has a home. */
  readonly brokerBackMs: number[] = [];

  get partitionMs(): number[] {
    return this.takenMs.flat();
  }

  add(kind: ClusterProblemKind, what: string): void {
    this.problems.push({ kind, what });
  }

  /** Problems of those that no machine is too slow for. */
  get broken(): readonly ClusterProblem[] {
    return this.problems.filter(({ kind }) => !LATE.has(kind));
  }

  lines(): string[] {
    const faults = [...this.faults].map(([name, times]) => `${name} ${times}`).join(", ");
    return [
      `${this.messages} messages, ${this.turns} turns, ${this.calls} calls of the model, ${this.sorry} failure notices`,
      `faults: ${faults === "" ? "none" : faults}`,
      `paid twice: ${this.paidTwice}, and ${this.paidTwiceAtMost} calls were under way at faults`,
      `from a kill to the first call of each due channel: ${spread(this.takeoverMs)}`,
      `from a kill until others have its partitions: ${spread(this.partitionMs)}; the due channels: ${spread(this.channelMs)}`,
      `from a message to its answer but for the model, where all is well: at the home ${spread(this.homeMs)}; across ${spread(this.acrossMs)}`,
      `even shares after joining: ${spread(this.evenMs)}`,
      `all partitions have homes after a broker's restart: ${spread(this.brokerBackMs)}`,
    ];
  }
}

function spread(times: readonly number[]): string {
  if (times.length === 0) return "none";
  const at = (share: number): string => `${Math.round(quantile(times, share))}`;
  return `p50 ${at(0.5)}, p99 ${at(0.99)}, max ${Math.round(Math.max(...times))} ms of ${times.length}`;
}
