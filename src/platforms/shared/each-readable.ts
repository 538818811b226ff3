import { z } from "zod";

/** A list whose unreadable items are dropped: one odd item does not void the others. Null, absent, or no list: empty. */
export function eachReadable<Item extends z.ZodType>(item: Item) {
  return z
    .array(z.unknown())
    .nullish()
    .catch(null)
    .transform((list) =>
      (list ?? []).flatMap((one): z.output<Item>[] => {
        const read = item.safeParse(one);
        return read.success ? [read.data] : [];
      }),
    );
}

/** A text; null if it is something else. */
export const textOrNone = z.string().nullish().catch(null);
