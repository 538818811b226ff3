import type { RowCheck } from "./row-check.ts";

/** Live summaries tile 1..covered_to, without a gap and without an overlap; the log behind them has none either. */
export const checkI1: RowCheck = (_, { channel, summaries }, ledger) => {
  const wrong: string[] = [];
  let next = 1;
  for (const { from_seq: from, to_seq: to, live } of summaries) {
    if (!live) continue;
    if (from !== next) wrong.push(`a live summary begins at ${from}, the one before ends at ${next - 1}`);
    next = to + 1;
  }
  if (next - 1 !== channel.covered_to)
    wrong.push(`live summaries end at ${next - 1}, covered_to is ${channel.covered_to}`);
  if (channel.covered_to > channel.last_seq) wrong.push(`covered_to ${channel.covered_to} is past the log`);
  if (ledger.entries.size !== channel.last_seq)
    wrong.push(`${ledger.entries.size} entries, last_seq is ${channel.last_seq}`);
  return wrong;
};
