import { PARTITIONS } from "../../../src/ownership/homes.ts";

/** Whether each partition has a home, and the daemons' shares differ by at most one. */
export function areEven(shares: readonly number[]): boolean {
  const sum = shares.reduce((all, one) => all + one, 0);
  return sum === PARTITIONS && Math.max(...shares) - Math.min(...shares) <= 1;
}
