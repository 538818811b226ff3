import { hostname } from "node:os";
import type { z } from "zod";
import { pause } from "../../async/clock.ts";
import { OperatorError } from "../../core/errors.ts";
import type { RequestStore } from "../../store/commands/requests.ts";
import { isPresent } from "../../store/channels/members.ts";
import type { Store } from "../../store/store.ts";
import { weirCommand } from "../../files/installation.ts";

export interface RequestTimes {
  /** How long a daemon may take to take a request, ms. */
  readonly takeMs: number;
  /** How long it may take to answer one, ms. */
  readonly answerMs: number;
  /** How often is looked, ms. */
  readonly pollMs: number;
  /** How often is looked whether a daemon is still there to answer, ms; default: never. */
  readonly aliveMs?: number;
}

export const TIMES: RequestTimes = { takeMs: 2000, answerMs: 600_000, pollMs: 100, aliveMs: 1000 };

/**
 * Waits for a request's answer.
 * @param answers those that this version knows
 * @param whereToLook for the error: where its progress is shown
 * @returns null if the request was not taken; it is withdrawn
 * @throws OperatorError if it was taken and is not answered in time, or no daemon is there any more
 */
export async function ask<Answer>(
  requests: RequestStore,
  id: number,
  shutdown: AbortSignal,
  times: RequestTimes,
  answers: z.ZodType<Answer>,
  whereToLook = `\`${weirCommand("context")}\` and \`${weirCommand("compactions")}\` show what comes of it`,
): Promise<Answer | null> {
  const startedAt = performance.now();
  let [aliveAt, isOver] = [startedAt, false];
  for (;;) {
    const { isTaken, answer } = await requests.state(id);
    if (answer !== undefined) return readAnswer(answer, answers);
    if (isTaken && isOver)
      throw new OperatorError("The daemon that took this has ended, and nobody answers. Run this again.");
    const waitedMs = performance.now() - startedAt;
    const isLate = shutdown.aborted || waitedMs >= times.takeMs;
    // If a daemon takes it at this moment, the withdrawal fails, and the daemon answers.
    if (!isTaken && isLate && (await requests.withdraw(id))) {
      if (shutdown.aborted) throw new OperatorError("Interrupted: nothing was asked.");
      return null;
    }
    if (isTaken && (shutdown.aborted || waitedMs >= times.answerMs)) {
      throw new OperatorError(`The daemon is still at it: ${whereToLook}.`);
    }
    await pause(times.pollMs, shutdown);
    if (performance.now() - aliveAt < (times.aliveMs ?? Infinity)) continue;
    // It may have answered before it ended: the state is read once more.
    isOver = !(await requests.hasDaemon());
    aliveAt = performance.now();
  }
}

/**
 * Asks a daemon on this database for something that does not depend on a channel: by default the one of this machine, or any;
 * or the one of a name.
 * @param name in the cluster; default: of this machine, or any
 * @param answerMs longest wait for the answer, ms
 * @returns null if no daemon took it
 * @throws OperatorError if it was taken and is not answered in time
 */
export async function askDaemon<Answer>(
  { requests }: Pick<Store, "requests">,
  kind: Parameters<RequestStore["addForDaemon"]>[0],
  { shutdown }: { readonly shutdown: AbortSignal },
  answerMs: number,
  answers: z.ZodType<Answer>,
  name: string | null = null,
): Promise<Answer | null> {
  const id = await requests.addForDaemon(kind, { name, host: name === null ? hostname() : null });
  try {
    return await ask(
      requests,
      id,
      shutdown,
      { ...TIMES, answerMs },
      answers,
      `\`${weirCommand("logs")}\` shows what it does`,
    );
  } finally {
    await requests.remove(id);
  }
}

function readAnswer<Answer>(value: unknown, answers: z.ZodType<Answer>): Answer {
  const { success, data } = answers.safeParse(value);
  if (success) return data;
  throw new OperatorError(
    "The daemon answered what this version does not understand. Are both of one version?",
  );
}

/**
 * To be called when a channel's request was not taken. A command may do the work itself only if no daemon of a cluster is
 * present: it has no partition, and would take the channel from its next home.
 * @param what the request, `summarise discord:1`
 * @throws OperatorError if a daemon is present
 */
export async function assertNoCluster({ members }: Pick<Store, "members">, what: string): Promise<void> {
  if (!(await members.all()).some(isPresent)) return;
  throw new OperatorError(
    `No daemon of the cluster has taken this (${what}): the channel is moving from one to another, or its home is cut off. ` +
      `Nothing was done. Run this again in a moment; \`${weirCommand("cluster")}\` shows who is there.`,
  );
}
