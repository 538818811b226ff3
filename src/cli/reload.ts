import { formatReloaded, reloadAnswer } from "../admin/requests/reload-answer.ts";
import { OperatorError } from "../core/errors.ts";
import { displayableLine } from "../text/displayable.ts";
import { mayHaveDaemon } from "../store/database/open.ts";
import type { Store } from "../store/store.ts";
import { askDaemon } from "../admin/requests/ask-daemon.ts";
import { type CommonOptions, type Io, say } from "./shared/io.ts";
import { assertHasRun, readConfig, withStore } from "./shared/open.ts";
import { weirCommand } from "../files/installation.ts";

type ReloadOptions = CommonOptions & { readonly daemon?: string; readonly force?: boolean };

/** It is read, and whatever is being reloaded comes first, ms. */
const ANSWER_MS = 30_000;

/**
 * `weir reload`: the daemon reads its configuration again, and reports the changes.
 * @throws OperatorError with the configuration's errors, or if no daemon runs
 */
export async function reload(io: Io, options: ReloadOptions): Promise<void> {
  const config = readConfig(io, options);
  await assertHasRun(config);
  if (!(await mayHaveDaemon(config.database))) throw new OperatorError(NOBODY);
  await withStore(io, config, async (store) => askToReload(io, store, options), "asker");
}

async function askToReload(
  io: Io,
  { requests, overview }: Store,
  { daemon: name, force = false }: ReloadOptions,
): Promise<void> {
  if ((await overview.daemons()) === null) throw new OperatorError(NOBODY);
  const kind = force ? "forced reload" : "reload";
  const answer = await askDaemon({ requests }, kind, io, ANSWER_MS, reloadAnswer, name);
  if (answer === null)
    throw new OperatorError(
      `No daemon took this: it starts, ends, or is of an older version. \`${weirCommand("status")}\` tells more.`,
    );
  if (answer.kind === "refused")
    throw new OperatorError(`${answer.problems}\n\nWhat the daemon has read before stays in force.`);
  if (answer.daemon !== undefined) say(io, `Daemon ${displayableLine(answer.daemon)}:`);
  say(io, formatReloaded(answer));
}

const NOBODY = "No Weir runs on this database: it reads its configuration when it starts.";
