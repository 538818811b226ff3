import { performance } from "node:perf_hooks";

/**
 * Makes a failing list of places shorter for as long as what is left still fails: halves, quarters, … down to single
 * places are left out (delta debugging). A schedule of real processes does not fail alike each time, so what is left
 * is the shortest list that was seen to fail.
 * @param fails performs these places; the place at which it failed, null if it did not
 */
export async function shrink(
  places: readonly number[],
  fails: (places: readonly number[]) => Promise<number | null>,
  budgetMs: number,
): Promise<number[]> {
  const end = performance.now() + budgetMs;
  let left = [...places];
  for (let size = Math.ceil((left.length - 1) / 2); size >= 1; size = Math.floor(size / 2)) {
    // The oldest first: they matter least, and each run without them is shorter. The last step is the one that fails.
    for (let from = 0; from < left.length - 1 && performance.now() < end;) {
      const shorter = [...left.slice(0, from), ...left.slice(Math.min(from + size, left.length - 1))];
      const failedAt = await fails(shorter);
      if (failedAt === null) from += size;
      // What came behind the failure had no part in it.
      else left = shorter.slice(0, failedAt + 1);
    }
  }
  return left;
}
