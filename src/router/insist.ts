import pRetry from "p-retry";
import { WeirError } from "../core/errors.ts";

/** How often a write is repeated while the database is away, and the first wait, ms; each is twice the one before. */
const RETRIES = 4;
const RETRY_FROM_MS = 100;

/**
 * Repeats an idempotent write while the database is away for a moment: a platform does not deliver an event twice.
 * @param retries default: 4, which is a second and a half; 8 are 25 seconds
 * @returns also whether an earlier attempt failed, which may have been committed all the same
 */
export async function insist<Result>(
  write: () => Promise<Result>,
  retries = RETRIES,
): Promise<{ readonly result: Result; readonly isRepeated: boolean }> {
  let attempts = 0;
  const result = await pRetry(
    async () => {
      attempts++;
      return write();
    },
    {
      retries,
      minTimeout: RETRY_FROM_MS,
      shouldRetry: ({ error }) => error instanceof WeirError && error.retryable,
    },
  );
  return { result, isRepeated: attempts > 1 };
}
