/**
 * The wait that the server requests: `retry-after-ms` (OpenAI's), else `retry-after` in seconds or as an HTTP date (RFC
 * 9110 §10.2.3).
 * @returns milliseconds, at least 0; undefined: none
 */
export function retryAfterMs(headers: Headers | undefined, now: Date): number | undefined {
  const milliseconds = positive(headers?.get("retry-after-ms"));
  if (milliseconds !== undefined) return milliseconds;
  const value = headers?.get("retry-after") ?? undefined;
  const seconds = positive(value);
  if (seconds !== undefined) return Math.ceil(seconds * 1000);
  const date = value === undefined ? Number.NaN : Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now.getTime());
}

function positive(value: string | null | undefined): number | undefined {
  if (value === null || value === undefined || !/^\s*\d+(?:\.\d+)?\s*$/.test(value)) return undefined;
  return Number(value);
}
