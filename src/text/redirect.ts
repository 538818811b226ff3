import { originOf } from "./displayable.ts";
import { sliceWhole } from "./text.ts";

/** Longest shown part of an address: a host name has at most 253 characters. */
const LONGEST = 300;

/**
 * Describes an answer's redirect for the operator. Weir does not follow redirects: they would send the content or the
 * key to a server that is not configured. Only origins are named, since a path or a query may hold a secret. Pure.
 * @param url the requested address
 * @param option the setting with the server's address
 * @returns undefined: no redirect
 */
export function redirectIn(
  url: string,
  { status, headers }: Pick<Response, "status" | "headers">,
  option: string,
): string | undefined {
  // 304 answers conditional requests.
  if (status < 300 || status > 399 || status === 304) return undefined;
  const location = headers.get("location");
  const target = location === null ? null : URL.parse(location, url);
  const isReadable = target !== null && /^https?:$/.test(target.protocol);
  const to = isReadable ? sliceWhole(target.origin, 0, LONGEST) : "no readable address";
  return refusedRedirect(url, { status, to: ` to ${to}` }, option);
}

/** The same if a library has read the answer. @param to " to WHERE", or "" if unknown */
export function refusedRedirect(
  url: string,
  { status, to }: { readonly status: number; readonly to: string },
  option: string,
): string {
  return (
    `${originOf(url)} redirects${to} (HTTP ${status}), and Weir follows no redirect: ` +
    `set ${option} to an address of your server that answers without one`
  );
}
