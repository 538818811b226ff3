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
