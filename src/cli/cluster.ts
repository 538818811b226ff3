import { formatCluster, reportCluster } from "../admin/reports/cluster-report.ts";
import { parseClusterState } from "../admin/reports/daemon-status.ts";
import { pause } from "../async/clock.ts";
import { OperatorError } from "../core/errors.ts";
import { isPresent, type Member } from "../store/channels/members.ts";
import type { Store } from "../store/store.ts";
import { displayableLine } from "../text/displayable.ts";
import { counted } from "../text/text.ts";
import { assertWhole, type CommonOptions, type Io, say, sayJson } from "./shared/io.ts";
import { assertHasRun, firstTimeFormat, withStore } from "./shared/open.ts";
import { Spinner } from "./shared/progress.ts";
import { readConfigToLook } from "./shared/readable-config.ts";
import { weirCommand } from "../files/installation.ts";

type ClusterOptions = CommonOptions & { readonly json?: boolean };
type DrainOptions = CommonOptions & { readonly undo?: boolean };

/** Interval of checks whether a daemon has handed over everything, ms. */
const LOOK_MS = 500;

/** `weir cluster`: the daemons, their channels and shards, and the waiting work. It reads the database, and asks no daemon. */
export async function showCluster(io: Io, options: ClusterOptions): Promise<void> {
  const config = readConfigToLook(io, options);
  await assertHasRun(config);
  await withStore(io, config, async ({ members, gatewayShards }) => {
    const report = reportCluster(await members.all(), await members.partitions(), await gatewayShards.all());
    if (options.json === true) sayJson(io, report, 2);
    else for (const line of formatCluster(report, firstTimeFormat(config))) say(io, line);
  });
}

/**
 * `weir cluster drain NAME`: a daemon hands over all its partitions, and acquires none until that is revoked or it starts
 * again. Resolves when it has none.
 * @throws OperatorError if there is no such daemon, or it ends during the wait
 */
export async function drainMember(io: Io, name: string, options: DrainOptions): Promise<void> {
  const config = readConfigToLook(io, options);
  await assertHasRun(config);
  await withStore(
    io,
    config,
    async (store) => {
      const isDrained = options.undo !== true;
      const asked = await store.members.setDrained(name, isDrained);
      if (asked === 0) throw new OperatorError(await nobodyOf(store, name));
      if (!isDrained) return say(io, `${name} takes its share again, within a few seconds.`);
      await untilEmpty(io, store, name);
    },
    "asker",
  );
}

async function nobodyOf({ members }: Store, name: string): Promise<string> {
  const here = (await members.all()).filter(isPresent);
  const names = here.map((one) => displayableLine(one.name)).join(", ");
  const hint = names === "" ? "None is there." : `There are: ${names}.`;
  return `No daemon of the cluster is called ${displayableLine(name)}. ${hint}`;
}

async function untilEmpty(io: Io, store: Store, name: string): Promise<void> {
  using _ = new Spinner(io.stderr, `${name} hands on what it has; Ctrl-C leaves it at that`);
  while (!io.shutdown.aborted) {
    const of = (await store.members.all()).filter((one) => one.name === name && isPresent(one));
    if (of.length === 0) throw new OperatorError(`${name} is gone.`);
    const held = of.reduce((sum, one) => sum + one.held.length, 0);
    const shards = of.reduce((sum, one) => sum + shardsOf(one), 0);
    if (of.every((member) => isResting(member) && parseClusterState(member.vitals)?.members === 0))
      return say(
        io,
        `${name} is asked, but no other daemon takes partitions: it goes on with ${counted(held, "partition")} until one does.`,
      );
    if (held === 0 && shards === 0 && of.every(isResting))
      return say(io, `${name} is home of nothing any more, and takes nothing.`);
    await pause(LOOK_MS, io.shutdown);
  }
  assertWhole(
    io,
    `${name} is asked, and still has something. \`${weirCommand("cluster")}\` shows how far it is`,
  );
}

function isResting({ vitals }: Member): boolean {
  return parseClusterState(vitals)?.isResting === true;
}

/** Those that it has, and that another could take. */
function shardsOf({ vitals }: Member): number {
  const shared = parseClusterState(vitals)?.shards.filter(({ members }) => members !== 0) ?? [];
  return shared.reduce((sum, { held }) => sum + held.length, 0);
}
