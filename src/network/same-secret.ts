import { createHash, timingSafeEqual } from "node:crypto";

/** Whether two texts are equal. Takes constant time, so its duration reveals nothing of a secret. Pure. */
export function isSameSecret(shown: string, secret: string): boolean {
  return timingSafeEqual(digest(shown), digest(secret));
}

/** Digests have equal lengths, as the comparison requires. */
function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
