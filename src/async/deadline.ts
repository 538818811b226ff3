/** @returns null where it takes longer; the work goes on, and the wait keeps no process alive */
export async function withDeadline<Result>(work: Promise<Result>, ms: number): Promise<Result | null> {
  const { promise: late, resolve } = Promise.withResolvers<null>();
  const timer = setTimeout(() => resolve(null), ms).unref();
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

export const ABORTED = Symbol("aborted");

/** Waits for work that takes no signal, but no longer than until the signal. What becomes of it later is ignored. */
export async function unlessAborted<Result>(
  work: Promise<Result>,
  signal: AbortSignal,
): Promise<Result | typeof ABORTED> {
  const { promise, resolve } = Promise.withResolvers<typeof ABORTED>();
  const onAbort = (): void => resolve(ABORTED);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
