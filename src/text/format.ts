/** A count as people read it, `12,345`; rounded to a whole number. */
export function formatNumber(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}
