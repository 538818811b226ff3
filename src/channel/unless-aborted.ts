export const ABORTED = Symbol("aborted");

/** Waits for a call that takes no signal, but no longer than until the signal. What becomes of it later is ignored. */
export async function unlessAborted<Result>(
  call: Promise<Result>,
  signal: AbortSignal,
): Promise<Result | typeof ABORTED> {
  const { promise, resolve } = Promise.withResolvers<typeof ABORTED>();
  const onAbort = (): void => resolve(ABORTED);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([call, promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
