import {
  type CompactAnswer,
  compactAnswer,
  describeAnswer,
  describeRedo,
  forceCompaction,
  quoteSummary,
  redoCompaction,
} from "../admin/requests/compact-answer.ts";
import type { Config } from "../config/config.ts";
import { OperatorError } from "../core/errors.ts";
import { jobId, type JobId } from "../core/ids.ts";
import { buildDaemon } from "../daemon/daemon.ts";
import { assertExists, mayHaveDaemon } from "../store/database/open.ts";
import { ask, assertNoCluster, TIMES } from "../admin/requests/ask-daemon.ts";
import type { Store } from "../store/store.ts";
import { aborted, type CommonOptions, type Io, say } from "./shared/io.ts";
import { findChannel, openLog, readConfig, withStore } from "./shared/open.ts";
import { Spinner } from "./shared/progress.ts";
import { weirCommand } from "../files/installation.ts";

type CompactOptions = CommonOptions & {
  /** The compaction whose summary is to be written again, in the typed form. */
  readonly redo?: string;
};

/**
 * `weir compact CHANNEL`: summarises old entries now, or writes one summary again. A running daemon does it; without one, this
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
    `--redo takes the number of a compaction, such as 12: \`${weirCommand("compactions")}\` shows them. ${JSON.stringify(typed.slice(0, 60))} is none.`,
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
    const id = await store.requests.add(
      channel.id,
      redo === null ? { kind: "compact" } : { kind: "redo", job: redo },
    );
    answer = await ask(store.requests, id, io.shutdown, TIMES, compactAnswer);
    if (answer === null) await assertNoCluster(store, what);
  };
  await withStore(io, config, work, "asker");
  if (answer === null && redo !== null)
    io.stderr.write(
      "No daemon has taken this: none runs, or its version is older and knows no --redo. It is done here.\n",
    );
  return answer;
}

/** Without a daemon: builds everything but the platforms; answers no messages, and resumes no other work. */
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
