import { pause } from "../async/clock.ts";
import { OperatorError } from "../core/errors.ts";
import type { RequestStore } from "../store/commands/requests.ts";

/** How long is waited for a daemon. */
export interface RequestTimes {
  /** How long a daemon may take to take a request, ms. */
  readonly takeMs: number;
  /** How long it may take to answer one, ms. */
  readonly answerMs: number;
  /** How often is looked, ms. */
  readonly pollMs: number;
}

export const TIMES: RequestTimes = { takeMs: 2000, answerMs: 600_000, pollMs: 100 };

/**
 * Waits for a request's answer.
 * @param parse undefined: this version does not know the answer
 * @returns null if nobody took it: it is withdrawn
 * @throws OperatorError if it was taken and is not answered in time
 */
export async function ask<Answer>(
  requests: RequestStore,
  id: number,
  shutdown: AbortSignal,
  times: RequestTimes,
  parse: (value: unknown) => Answer | undefined,
): Promise<Answer | null> {
  const startedAt = performance.now();
  for (;;) {
    const { isTaken, answer } = await requests.state(id);
    if (answer !== undefined) return readAnswer(answer, parse);
    const waitedMs = performance.now() - startedAt;
    const isLate = shutdown.aborted || waitedMs >= times.takeMs;
    // Whoever takes it in this moment answers it.
    if (!isTaken && isLate && (await requests.withdraw(id))) {
      if (shutdown.aborted) throw new OperatorError("Interrupted: nothing was asked.");
      return null;
    }
    if (isTaken && (shutdown.aborted || waitedMs >= times.answerMs)) {
      throw new OperatorError(
        "The daemon is still at it. weir context and weir compactions show what comes of it.",
      );
    }
    await pause(times.pollMs, shutdown);
  }
}

function readAnswer<Answer>(value: unknown, parse: (value: unknown) => Answer | undefined): Answer {
  const answer = parse(value);
  if (answer !== undefined) return answer;
  throw new OperatorError(
    "The daemon answered what this version does not understand. Are both of one version?",
  );
}
