import type { ModelCall } from "./world-record.ts";

/** What a kill left due, and has to be taken up by others. */
export interface Killed {
  readonly daemon: string;
  /** By the clock of the machine, ms. */
  readonly at: number;
  readonly due: readonly DueChannel[];
}

export interface DueChannel {
  /** As the log has it. */
  readonly channel: string;
  /** The messages that wait for an answer there, as the log has them. */
  readonly messageIds: readonly string[];
}

/** A channel that another daemon has taken up, with the first call of the model for what was due there. */
export interface Takeover {
  readonly channel: string;
  readonly ms: number;
}

/** No process starts in less, ms. */
const START_MS = 100;

/**
 * What was taken up behind a kill. A daemon's last statement may be committed after its end: the channel was due when it was killed, and
 * is not any more when others have it. What they ask the model there some time later is for something else. Pure.
 * @param idOf how the calls name a message of the log
 */
export function takeoversOf(
  { daemon, at, due }: Killed,
  calls: readonly ModelCall[],
  idOf: ReadonlyMap<string, string>,
): Takeover[] {
  const later = calls.filter((call) => isOfAnother(call, daemon, at));
  return due.flatMap(({ channel, messageIds }) => {
    const ids = new Set(messageIds.map((id) => idOf.get(id)));
    const first = later.find((call) => call.channel === channel && call.due.some((id) => ids.has(id)));
    return first === undefined ? [] : [{ channel, ms: first.at - at }];
  });
}

/** A process that was killed asks no more; what comes of its name so much later is another's. */
function isOfAnother(call: ModelCall, daemon: string, at: number): boolean {
  return call.at >= at + (call.daemon === daemon ? START_MS : 0);
}
