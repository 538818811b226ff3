import { z } from "zod";

const whole = z.number().int().nonnegative();
export const forgetAnswer = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("forgotten"), messages: whole, memories: whole, isDone: z.boolean() }),
  z.object({ kind: z.literal("failed") }),
]);

/** Counts of a person's erased content in a channel, as sent between processes. */
export type ForgetAnswer = z.infer<typeof forgetAnswer>;
