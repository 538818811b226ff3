import { isDeepStrictEqual } from "node:util";

/** Nothing has changed for so long: it is stuck, ms. */
const STUCK_MS = 60_000;
const LOOK_EVERY_MS = 50;

/** Looks at something until there is none of it any more, for as long as it changes. */
export async function progress<Left>(look: () => Promise<Left | null>): Promise<void> {
  let last = await look();
  for (let changedAt = performance.now(); last !== null;) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    const left = await look();
    if (!isDeepStrictEqual(left, last)) changedAt = performance.now();
    if (performance.now() - changedAt > STUCK_MS) throw new Error(`stuck at ${JSON.stringify(left)}`);
    last = left;
  }
}
