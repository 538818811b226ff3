import type { Incarnation } from "../incarnation.ts";
import type { Ledger, Versions } from "../ledger.ts";
import type { View } from "../observe.ts";
import type { Prompt } from "../prompt.ts";

/** A turn's prompt as it arrived at the model, with the rows of that moment. */
export interface Arrival {
  readonly prompt: Prompt;
  /** Its agent answers in the channel of another one. */
  readonly isGuest: boolean;
  /** Of a view for this call alone: the channel's own is compared with the next one. */
  readonly isForOneCall: boolean;
  /** Its place among the channel's arrivals: a look at the rows may take longer than the one of the next prompt. */
  readonly order: number;
  readonly incarnation: Incarnation;
  /** Tokens of the model's window as the incarnation believed when the prompt arrived: a refusal in another room may change it. */
  readonly window: number;
  readonly state: View;
  readonly before: Versions;
  readonly at: Versions;
  /** The incarnation is the channel's only owner: no other one changes the rows behind its back. */
  readonly isSole: boolean;
  /** Markers whose deletion was acknowledged before the prompt arrived. */
  readonly gone: ReadonlySet<string>;
}

/** No row that a prompt is made of has changed since before it was put together: it must show them as they are. */
export function isStill({ before, at, isSole, state }: Arrival): boolean {
  const { channel, running } = state;
  return (
    isSole &&
    running?.epoch === channel.epoch &&
    before.summaries === at.summaries &&
    before.coveredTo === at.coveredTo &&
    before.omittedTo === at.omittedTo &&
    before.deletions === at.deletions
  );
}

/** The first entry that the rows call raw. */
export function firstRaw({ channel }: View): number {
  return Math.max(channel.covered_to, channel.omitted_to) + 1;
}

/** @returns what is wrong */
export type PromptCheck = (arrival: Arrival, ledger: Ledger) => string[];
