import type { RowCheck } from "./row-check.ts";

/** No watermark falls. */
export const checkI3: RowCheck = (before, after) => {
  if (before === null) return [];
  const keys = ["covered_to", "omitted_to", "settled_to", "last_seq", "epoch"] as const;
  return keys.flatMap((key) =>
    after.channel[key] < before.channel[key]
      ? [`${key} falls from ${before.channel[key]} to ${after.channel[key]}`]
      : [],
  );
};
