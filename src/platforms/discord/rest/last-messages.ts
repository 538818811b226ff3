import { BoundedMap } from "../../../async/bounded-map.ts";

/** Ids of the newest messages of the channels that spoke last: an answer to the newest one needs no reference. */
export type Newest = BoundedMap<string>;

export function createNewest(): Newest {
  return new BoundedMap<string>(10_000);
}
