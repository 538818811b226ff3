import type { Carrier } from "../carrier.ts";

/** Vectors are deleted by triggers of `entries` and `revisions`, and with their memory: a text that leaves by expiry takes its vector, too. */
export const VECTORS: Carrier = {
  name: "vectors",
  texts: [],
};
