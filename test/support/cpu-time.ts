import process from "node:process";

/** Processor time of synchronous work, ms, to detect quadratic growth: unlike elapsed time, it does not depend on other load. */
export function cpuMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  return msSince(before);
}

/** Processor time of the whole process during asynchronous work, ms. */
export async function cpuMsOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  return msSince(before);
}

function msSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
