/** A count for people, `12,345`; rounded to a whole number. */
export function formatNumber(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

/** Money for people, `$12.34`; below a dollar in hundredths of a cent, `$0.0123`. */
export function formatDollars(dollars: number): string {
  if (dollars > 0 && dollars < 0.0001) return "under $0.0001";
  const digits = dollars >= 1 ? 2 : 4;
  const amount = dollars.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: digits });
  return `$${amount}`;
}

/** A duration in its largest unit, `12 s`, `5 min`, `3 h`, `2 days`. */
export function formatSpan(ms: number): string {
  if (ms < 60_000) return `${Math.floor(ms / 1000)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min`;
  if (ms < 172_800_000) return `${Math.floor(ms / 3_600_000)} h`;
  return `${Math.floor(ms / 86_400_000)} days`;
}

/** `12 kB`, `1.2 MB` */
export function formatSize(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`;
  return bytes < 1_000_000 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** Whole numbers as ranges, `0-3, 7`. */
export function formatRanges(numbers: readonly number[]): string {
  const ranges: { from: number; to: number }[] = [];
  for (const number of numbers.toSorted((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last?.to === number - 1) last.to = number;
    else ranges.push({ from: number, to: number });
  }
  return ranges.map(({ from, to }) => (from === to ? String(from) : `${from}-${to}`)).join(", ");
}
