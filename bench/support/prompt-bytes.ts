/** What a server reads of a request, in the order in which its template puts it. */
export function promptBytes(parts: readonly unknown[]): Buffer {
  return Buffer.from(parts.map((part) => JSON.stringify(part)).join("\n"));
}

/** Bytes with which both begin. */
export function sharedBytes(prompt: Buffer, before: Buffer = Buffer.alloc(0)): number {
  let shared = 0;
  while (shared < prompt.length && prompt[shared] === before[shared]) shared++;
  return shared;
}
