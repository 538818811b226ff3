import { z } from "zod";

/** Arguments of tools whose bounds are told when they are exceeded: in the schema every request would pay for them. */

/** A text that is not blank. @param most its longest length, in UTF-16 units */
export function words(most: number): z.ZodType<string, string> {
  return z
    .string()
    .trim()
    .refine((text) => text !== "" && text.length <= most, `must have 1 to ${most} characters`);
}

/** The same, null where it is blank: some models send each argument. */
export function blankable(most: number): z.ZodType<string | null, string> {
  return z
    .string()
    .trim()
    .refine((text) => text.length <= most, `must have at most ${most} characters`)
    .transform((text) => (text === "" ? null : text));
}

export function whole(least: number, most: number): z.ZodType<number, number> {
  return z
    .number()
    .refine(
      (number) => Number.isSafeInteger(number) && number >= least && number <= most,
      `must be a whole number from ${least} to ${most}`,
    );
}
