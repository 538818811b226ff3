import { PARTITIONS } from "../channel/homes.ts";

/** How many partitions a member holds of right: the shares differ by one at most, and are all together. Pure. @param rank from 0 */
export function shareOf(rank: number, members: number): number {
  return Math.floor(PARTITIONS / members) + (rank < PARTITIONS % members ? 1 : 0);
}

/** The same while it is known how many members there are, and not who they are: all shares together are enough. Pure. */
export function largestShare(members: number): number {
  return shareOf(0, Math.max(1, members));
}
