/**
 * Calls a listener of a model call. What it throws is its own affair and is dropped here: a listener that fails
 * must not void an answer that a person waits for.
 */
export function notify<Arguments extends readonly unknown[]>(
  listener: ((...values: Arguments) => void) | undefined,
  ...values: Arguments
): void {
  try {
    listener?.(...values);
  } catch {
    // See above.
  }
}
