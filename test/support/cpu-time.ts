import process from "node:process";

/**
 * Processor time that synchronous work takes, ms: against what grows with the square of its input. By the clock it would be as
 * long as whatever else the machine does.
 */
export function cpuMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  return msSince(before);
}

/** Of work that takes turns with others, theirs included. */
export async function cpuMsOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  return msSince(before);
}

function msSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
