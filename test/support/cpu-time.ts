import process from "node:process";

/**
 * Processor time that synchronous work takes, ms: against what grows with the square of its input. By the clock it would be as
 * long as whatever else the machine does.
 */
export function cpuMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
