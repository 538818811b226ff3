import { setTimeout as delay } from "node:timers/promises";
import { errorMessage } from "../../../src/core/errors.ts";
import { Deck } from "../../fuzz/random.ts";
import { untilNone } from "../../support/patience.ts";
import { checkCluster } from "./cluster-checks.ts";
import { CLUSTER_FAULTS, type ClusterFault, type FaultLimits, isPrivate } from "./cluster-faults.ts";
import { ClusterReport } from "./cluster-report.ts";
import { ClusterScene, type SceneOptions } from "./scene.ts";

export interface ClusterRunOptions extends SceneOptions {
  /** So long something goes wrong again and again, s; the start and the end come on top. */
  readonly seconds: number;
  readonly longestStopMs: number;
  /** Only faults whose names begin so; default: all. */
  readonly only?: string | undefined;
  /** Told of each fault. */
  readonly onLine: (line: string) => void;
}

/** Share of the faults that come before all is well again after the one before. */
const HASTE = 0.3;
/** Channels in which is asked, at the same time, once all is well, and how often in each: at the home, and across. */
const ASKED_CHANNELS = 8;
const ASKED_TIMES = 3;

/**
 * Several daemons serve many channels, while they are killed, stopped, cut off, ended and joined. Looks at the end whether
 * anything was lost, doubled or done by two. The seed decides what is done, not how the processes' steps fall together.
 */
export async function runCluster(options: ClusterRunOptions): Promise<ClusterReport> {
  const report = new ClusterReport();
  await using scene = await ClusterScene.open(options);
  const stop = new AbortController();
  const talking = scene.talk(stop.signal);
  try {
    await harm(scene, report, options);
    stop.abort();
    await talking;
    if (await recovered(scene, report)) await ask(scene, report);
  } catch (error) {
    report.add("ended", `the run ended: ${error instanceof Error ? error.stack : errorMessage(error)}`);
  }
  stop.abort();
  await talking.catch(() => undefined);
  await checkCluster(scene, report);
  return report;
}

async function harm(scene: ClusterScene, report: ClusterReport, options: ClusterRunOptions): Promise<void> {
  const { seconds, daemons, longestStopMs, only = "", onLine } = options;
  const limits: FaultLimits = { longestStopMs, mostDaemons: daemons + 1 };
  const faults = faultsFor(scene, only);
  const deck = new Deck<ClusterFault>(scene.random, faults);
  const end = performance.now() + seconds * 1000;
  while (performance.now() < end && faults.length > 0) {
    const fault = deck.deal();
    const beganAt = performance.now();
    await fault.run(scene, report, limits);
    report.faults.set(fault.name, (report.faults.get(fault.name) ?? 0) + 1);
    const isHasty = scene.random.chance(HASTE);
    const evenMs = isHasty ? null : await scene.untilEven();
    if (!isHasty && evenMs === null) report.add("slow", `shares are not even a minute after ${fault.name}`);
    const even = evenMs === null ? "" : `, even again after ${Math.round(evenMs)} ms`;
    onLine(
      `${fault.name} in ${Math.round(performance.now() - beganAt)} ms${even}; ${scene.said.length} messages`,
    );
    await delay(scene.random.int(0, 1500));
  }
}

/** All daemons are well, and everything that was said is answered. @returns whether it is */
async function recovered(scene: ClusterScene, report: ClusterReport): Promise<boolean> {
  for (const daemon of scene.running) await daemon.untilReady();
  if ((await scene.untilEven()) === null)
    report.add("slow", "shares are not even a minute after the last fault");
  try {
    await untilNone(async () => {
      const { shown } = await scene.record();
      const answered = new Set(shown.flatMap(({ inReplyTo, final }) => (final ? inReplyTo : [])));
      const left = scene.said.filter(({ id }) => !answered.has(id)).map(({ id }) => id);
      const open = await openWork(scene);
      return left.length === 0 && open === 0 ? null : { left, open };
    });
    return true;
  } catch (error) {
    report.add("lost", errorMessage(error));
    return false;
  }
}

/** Turns that run, and deliveries that are not recorded. */
async function openWork({ audit }: ClusterScene): Promise<number | undefined> {
  const [open] = await audit.rows<{ count: number }>(
    `select (select count(*) from turns where state = 'running') + (select count(*) from deliveries where state = 'pending') as count`,
  );
  return open?.count;
}

/** What a message takes at its channel's home, and at another daemon, whose wake the home needs: turn about, as the machine is now. */
async function ask(scene: ClusterScene, report: ClusterReport): Promise<void> {
  const homeOf = await scene.homes();
  const askedIn = async (channel: string): Promise<void> => {
    const home = homeOf(channel);
    const others = scene.running.map(({ name }) => name).filter((name) => name !== home);
    const other = scene.random.pick(others);
    const ownMs = async (daemon: string): Promise<number> => {
      const { ms, modelMs } = await scene.ask(channel, daemon);
      return ms - modelMs;
    };
    // The first one loads the channel.
    await ownMs(home);
    for (let time = 0; time < ASKED_TIMES; time++) {
      report.homeMs.push(await ownMs(home));
      report.acrossMs.push(await ownMs(other));
    }
  };
  await Promise.all(Array.from({ length: ASKED_CHANNELS }, async (_, index) => askedIn(`asked-${index}`)));
  // A delivery is recorded after people have seen it.
  await untilNone(async () => {
    const open = await openWork(scene);
    return open === 0 ? null : { open };
  });
}

/** Those that this run may deal. */
function faultsFor({ broker }: Pick<ClusterScene, "broker">, only: string): ClusterFault[] {
  return CLUSTER_FAULTS.filter(
    ({ name, ofBroker = false }) => name.startsWith(only) && (!ofBroker || isPrivate(broker)),
  );
}
