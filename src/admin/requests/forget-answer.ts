import { z } from "zod";

const whole = z.number().int().nonnegative();
const Answer = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("forgotten"), messages: whole, memories: whole, isDone: z.boolean() }),
  z.object({ kind: z.literal("failed") }),
]);

/** Counts of a person's erased content in a channel, as sent between processes. */
export type ForgetAnswer = z.infer<typeof Answer>;

/** @returns undefined if this version does not know the answer */
export function parseForgetAnswer(value: unknown): ForgetAnswer | undefined {
  return Answer.safeParse(value).data;
}
