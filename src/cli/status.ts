import { statusSchema } from "../admin/reports/daemon-status.ts";
import { formatStatus, summariseChannels } from "../admin/reports/status-report.ts";
import { OperatorError } from "../core/errors.ts";
import { displayableLine } from "../text/displayable.ts";
import { mayHaveDaemon } from "../store/database/open.ts";
import type { Database } from "../store/database/database.ts";
import { readFeatureWork } from "../features/features.ts";
import type { Store } from "../store/store.ts";
import { askDaemon } from "../admin/requests/ask-daemon.ts";
import { listChannels } from "./channels.ts";
import { type CommonOptions, type Io, say, sayJson } from "./shared/io.ts";
import { assertHasRun, firstTimeFormat, withStore } from "./shared/open.ts";
import { readConfigToLook } from "./shared/readable-config.ts";
import { weirCommand } from "../files/installation.ts";

type StatusOptions = CommonOptions & { readonly json?: boolean; readonly daemon?: string };

/** Longest wait for a daemon's report, ms; it only reads its own state. */
const ANSWER_MS = 5000;

/** `weir status`: the daemon's own report, and the waiting work in the database, even without a daemon. */
export async function showStatus(io: Io, options: StatusOptions): Promise<void> {
  const config = readConfigToLook(io, options);
  await assertHasRun(config);
  const look = async (store: Store, database: Database): Promise<void> => {
    const connected = await store.overview.daemons();
    const daemon =
      connected === null
        ? null
        : await askDaemon(store, "status", io, ANSWER_MS, statusSchema, options.daemon);
    if (daemon === null && options.daemon !== undefined)
      throw new OperatorError(
        `No daemon called ${displayableLine(options.daemon)} has answered: \`${weirCommand("cluster")}\` shows who is there.`,
      );
    const [overviews, waiting, features] = await Promise.all([
      store.overview.channels(),
      store.overview.waiting(),
      readFeatureWork(database),
    ]);
    const { readAddress } = await import("../daemon/http/page/address.ts");
    const listed = await listChannels(config, store, overviews);
    const report = {
      daemon,
      connected,
      page: daemon === null ? null : (readAddress(config.database.dataDir)?.where ?? null),
      waiting: { ...waiting, ...Object.fromEntries(features.map(({ name, json }) => [name, json])) },
      ...summariseChannels(
        overviews,
        listed.map(({ row: _row, ...one }) => one),
      ),
    };
    if (options.json === true) sayJson(io, report, 2);
    else say(io, formatStatus(report, features, firstTimeFormat(config), new Date()));
  };
  // A database at rest is only read.
  await withStore(io, config, look, (await mayHaveDaemon(config.database)) ? "asker" : "reader");
}
