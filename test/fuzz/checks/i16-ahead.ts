import type { RowCheck } from "./row-check.ts";

/** What is written ahead waits behind all that is covered, and no two stretches overlap. */
export const checkI16: RowCheck = (_, { jobs, channel }) => {
  const ahead = jobs.filter(({ state }) => state === "ahead").toSorted((a, b) => a.from_seq - b.from_seq);
  const leafs = ahead.filter(({ kind }) => kind === "leaf");
  return [
    ...leafs
      .filter((one) => one.from_seq <= channel.covered_to)
      .map(
        (one) =>
          `job ${one.id} waits with ${one.from_seq}-${one.to_seq}, and all up to ${channel.covered_to} is covered`,
      ),
    ...ahead
      .filter((one, index) => one.from_seq <= (ahead[index - 1]?.to_seq ?? 0))
      .map((one) => `job ${one.id} waits with ${one.from_seq}-${one.to_seq}, which another one has as well`),
  ];
};
