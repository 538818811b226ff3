/**
 * Calls a listener of a model call and drops any error that it throws: a failing listener must not void an
 * answer that a person waits for.
 */
export function notify<Arguments extends readonly unknown[]>(
  listener: ((...values: Arguments) => void) | undefined,
  ...values: Arguments
): void {
  try {
    listener?.(...values);
  } catch {
    // Dropped, as above.
  }
}
