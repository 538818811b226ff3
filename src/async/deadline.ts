/**
 * A signal that is aborted after this time; it keeps no process alive. Not `AbortSignal.timeout`: once its combination by
 * `AbortSignal.any` goes into `AbortSignal.any` again, Node keeps it forever, some hundred bytes each time.
 * @param ms up to `LONGEST_TIMER_MS`
 */
export function abortedAfter(ms: number): AbortSignal {
  const late = new AbortController();
  setTimeout(() => late.abort(new DOMException(`${ms} ms passed`, "TimeoutError")), ms).unref();
  return late.signal;
}

/**
 * Waits for work until a deadline or the signal. The work itself continues; the wait keeps no process alive.
 * @returns null: the work is not over
 * @throws the work's error, if it fails in time
 */
export async function withDeadline<Result>(
  work: Promise<Result>,
  ms: number,
  signal?: AbortSignal,
): Promise<Result | null> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), ms).unref();
  try {
    const either = signal === undefined ? late.signal : AbortSignal.any([late.signal, signal]);
    const outcome = await unlessAborted(work, either);
    return outcome === ABORTED ? null : outcome;
  } finally {
    clearTimeout(timer);
  }
}

export const ABORTED = Symbol("aborted");

/** Waits until the signal for work that takes no signal. Its later outcome is ignored. */
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
