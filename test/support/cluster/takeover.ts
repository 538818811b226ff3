import { steadyNow } from "../../../src/async/clock.ts";
import { PARTITIONS } from "../../../src/ownership/homes.ts";
import { until } from "../patience.ts";
import { MemberProcess } from "./member-process.ts";
import { areEven } from "./shares.ts";

/** The end of one daemon among several. */
export interface Takeover {
  /** From the kill until another daemon received each of its leases, ms. */
  readonly tookMs: readonly number[];
}

/**
 * Kills daemons one after another with -9, each once all partitions are evenly distributed, and replaces each.
 * @param members number of running daemons
 */
export async function measureTakeovers(
  broker: { readonly url: string; readonly prefix: string },
  { members, kills }: { readonly members: number; readonly kills: number },
): Promise<Takeover[]> {
  await using all = new AsyncDisposableStack();
  let started = 0;
  const start = async (): Promise<MemberProcess> => {
    started += 1;
    const member = all.use(new MemberProcess(broker.url, broker.prefix, `m${started}`));
    await member.line('"started"');
    return member;
  };
  const running: MemberProcess[] = [];
  for (let member = 0; member < members; member++) running.push(await start());
  const takeovers: Takeover[] = [];
  for (let kill = 0; kill < kills; kill++) {
    await until("even shares", () => isEven(running));
    const victim = running.shift();
    if (victim === undefined) throw new Error("there is nobody to kill");
    const partitions = new Set(victim.owned);
    const killedAt = steadyNow();
    victim.signal("SIGKILL");
    await until("takeover", () => takenAt(running, partitions, killedAt).size === partitions.size);
    takeovers.push({
      tookMs: [...takenAt(running, partitions, killedAt).values()].map((at) => at - killedAt),
    });
    await victim.ended;
    running.push(await start());
  }
  return takeovers;
}

/** When each of these partitions was first taken by one of these daemons after the kill. */
function takenAt(
  members: readonly MemberProcess[],
  partitions: ReadonlySet<number>,
  since: number,
): ReadonlyMap<number, number> {
  const first = new Map<number, number>();
  for (const { event, at, partitions: gained } of members.flatMap(({ said }) => said)) {
    if (event !== "gained" || at < since) continue;
    for (const partition of gained)
      if (partitions.has(partition)) first.set(partition, Math.min(at, first.get(partition) ?? at));
  }
  return first;
}

function isEven(members: readonly MemberProcess[]): boolean {
  const isAll = new Set(members.flatMap(({ owned }) => owned)).size === PARTITIONS;
  return isAll && areEven(members.map(({ owned }) => owned.length));
}
