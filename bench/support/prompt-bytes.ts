/** The bytes of a request in the order of a server's template. */
export function promptBytes(parts: readonly unknown[]): Buffer {
  return Buffer.from(parts.map((part) => JSON.stringify(part)).join("\n"));
}

/** Number of bytes of their common beginning. */
export function sharedBytes(prompt: Buffer, before: Buffer = Buffer.alloc(0)): number {
  let shared = 0;
  while (shared < prompt.length && prompt[shared] === before[shared]) shared++;
  return shared;
}
