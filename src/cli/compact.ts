import { pause } from "../async/clock.ts";
import {
  type CompactAnswer,
  describeAnswer,
  describeRedo,
  forceCompaction,
  parseAnswer,
  quoteSummary,
  redoCompaction,
} from "../admin/compact-answer.ts";
import type { Config } from "../config/config.ts";
import { OperatorError } from "../core/errors.ts";
import { jobId, type JobId } from "../core/ids.ts";
import { buildDaemon } from "../daemon.ts";
import { assertExists, mayHaveDaemon } from "../store/database/open.ts";
import type { RequestStore } from "../store/commands/requests.ts";
import type { Store } from "../store/store.ts";
import { aborted, type CommonOptions, type Io, say } from "./io.ts";
import { findChannel, openLog, readConfig, withStore } from "./open.ts";
import { Spinner } from "./progress.ts";

export interface CompactTimes {
  /** How long a daemon may take to take a request, ms. */
  readonly takeMs: number;
  /** How long it may take to answer one, ms. */
  readonly answerMs: number;
  /** How often is looked, ms. */
  readonly pollMs: number;
}

const TIMES: CompactTimes = { takeMs: 2000, answerMs: 600_000, pollMs: 100 };

export type CompactOptions = CommonOptions & {
  /** The compaction whose summary is to be written again, as it was typed. */
  readonly redo?: string;
};

/**
 * `weir compact CHANNEL`: summarises what is old now, or writes one summary again. A daemon that runs does it; where none does, this
 * command.
 * @throws OperatorError if nothing was written
 */
export async function compact(io: Io, name: string, options: CompactOptions): Promise<void> {
  const redo = options.redo === undefined ? null : parseCompaction(options.redo);
  const config = readConfig(io, options);
  const answer = (await askDaemon(io, config, name, redo)) ?? (await compactHere(io, config, name, redo));
  const described = redo === null ? describeAnswer(answer) : describeRedo(answer);
  if (answer.kind !== "committed") throw new OperatorError(described);
  say(io, `${described}\n\n${quoteSummary(answer)}`);
}

/** The number of a compaction as a person types it, `12` or `#12`. @throws OperatorError */
export function parseCompaction(typed: string): JobId {
  const [, digits] = /^#?([1-9]\d{0,14})$/.exec(typed) ?? [];
  if (digits !== undefined) return jobId(Number(digits));
  throw new OperatorError(
    `--redo takes the number of a compaction, such as 12: weir compactions shows them. ${JSON.stringify(typed.slice(0, 60))} is none.`,
  );
}

/** @returns null if no daemon is there to do it */
async function askDaemon(
  io: Io,
  config: Config,
  name: string,
  redo: JobId | null,
): Promise<CompactAnswer | null> {
  if (!(await mayHaveDaemon(config.database))) return null;
  let answer: CompactAnswer | null = null;
  const work = async (store: Store): Promise<void> => {
    const channel = await findChannel(store, name);
    const what = redo === null ? `summarise ${name}` : `write #${redo} again`;
    using _line = new Spinner(io.stderr, `Asking the daemon to ${what}`);
    answer = await ask(store.requests, await store.requests.add(channel.id, redo), io.shutdown, TIMES);
  };
  await withStore(io, config, work, "asker");
  if (answer === null && redo !== null)
    io.stderr.write(
      "No daemon has taken this: none runs, or its version is older and knows no --redo. It is done here.\n",
    );
  return answer;
}

/**
 * Waits for a request's answer.
 * @returns null if nobody took it: it is withdrawn
 * @throws OperatorError if it was taken and is not answered in time
 */
export async function ask(
  requests: RequestStore,
  id: number,
  shutdown: AbortSignal,
  times: CompactTimes,
): Promise<CompactAnswer | null> {
  const startedAt = performance.now();
  for (;;) {
    const { isTaken, answer } = await requests.state(id);
    if (answer !== undefined) return readAnswer(answer);
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

function readAnswer(value: unknown): CompactAnswer {
  const answer = parseAnswer(value);
  if (answer !== undefined) return answer;
  throw new OperatorError(
    "The daemon answered what this version does not understand. Are both of one version?",
  );
}

/** Without a daemon: everything but the platforms is built, nobody is answered, and nothing else is taken up. */
async function compactHere(io: Io, config: Config, name: string, redo: JobId | null): Promise<CompactAnswer> {
  await assertExists(config.database);
  const log = openLog(io, config, config.log.level === "info" ? "warn" : config.log.level);
  await using daemon = await buildDaemon({ config, log, platforms: () => [], bindings: [] });
  if (daemon.models.isOffline) io.stderr.write(`${daemon.models.describe()}\n`);
  const channel = await findChannel(daemon.store, name);
  using _line = new Spinner(io.stderr, redo === null ? `Summarising ${name}` : `Writing #${redo} again`);
  const work = daemon.registry.visit(channel.id, async ({ compactor }) =>
    redo === null
      ? forceCompaction(compactor, daemon.store.compactions)
      : redoCompaction(compactor, daemon.store, channel.id, redo),
  );
  const answer = await Promise.race([work, aborted(AbortSignal.any([io.shutdown, daemon.lost]))]);
  daemon.lost.throwIfAborted();
  if (answer !== undefined) return answer;
  throw new OperatorError("Interrupted. Nothing is lost: whoever opens the channel next goes on from here.");
}
