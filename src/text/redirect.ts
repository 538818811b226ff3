import { originOf } from "./displayable.ts";
import { sliceWhole } from "./text.ts";

/** Shown characters of an address: a name of a host has at most 253. */
const LONGEST = 300;

/**
 * Says of an answer that redirects where it points, for the operator. Nothing of Weir's follows one: the request would carry its words or
 * its key to a server that nobody has configured. Only origins are named: a path or a query may hold a secret. Pure.
 * @param url the address that was asked
 * @param option the setting that holds the server's address
 * @returns undefined: it is no redirect
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

/** The same where a library has read the answer. @param to " to WHERE", or "" if it does not say */
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
