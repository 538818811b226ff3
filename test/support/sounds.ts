/** The first page of an Ogg with Opus, as a voice message has it, and as many bytes more. */
export function opus(more = 0): Buffer {
  const head =
    "4f6767530002000000000000000000000000000000000000000001134f707573486561640101380180bb000000000000";
  return Buffer.concat([Buffer.from(head, "hex"), Buffer.alloc(more)]);
}
