import { quantile } from "../../../bench/support/figure.ts";

/** `slow`: no rule is broken, and it takes far longer than it should. */
export type ClusterProblemKind = "lost" | "doubled" | "wrong" | "slow";

export interface ClusterProblem {
  readonly kind: ClusterProblemKind;
  readonly what: string;
}

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
  /** From a kill until others had taken its partitions. */
  partitionMs: number[] = [];
  /** From a kill until others had taken the channels that were due. */
  channelMs: number[] = [];
  /** From a message to the first call of the model where all is calm: at its channel's home, and at another daemon. */
  calmHomeMs: number[] = [];
  calmAcrossMs: number[] = [];
  /** From the readiness of one that joins until the shares are even. */
  readonly evenMs: number[] = [];
  /** From the start of a broker that was killed until each partition has a home. */
  readonly brokerBackMs: number[] = [];

  add(kind: ClusterProblemKind, what: string): void {
    this.problems.push({ kind, what });
  }

  /** Problems of those that no machine is too slow for. */
  get broken(): readonly ClusterProblem[] {
    return this.problems.filter(({ kind }) => kind !== "slow");
  }

  lines(): string[] {
    const faults = [...this.faults].map(([name, times]) => `${name} ${times}`).join(", ");
    return [
      `${this.messages} messages, ${this.turns} turns, ${this.calls} calls of the model, ${this.sorry} failure notices`,
      `faults: ${faults === "" ? "none" : faults}`,
      `paid twice: ${this.paidTwice}, and ${this.paidTwiceAtMost} calls were under way at faults`,
      `from a kill to the first call of each due channel: ${spread(this.takeoverMs)}`,
      `from a kill until others have its partitions: ${spread(this.partitionMs)}; the due channels: ${spread(this.channelMs)}`,
      `from a message to the first call, where all is calm: at the home ${spread(this.calmHomeMs)}; across ${spread(this.calmAcrossMs)}`,
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
