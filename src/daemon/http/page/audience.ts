import { EVENTS_PATH } from "./channel/live-line.ts";
import { DOWNLOADS, PLACES } from "./places/places.ts";
import type { Link } from "./markup.ts";
import type { Role } from "./roles.ts";

export const SIGN_OUT_PATH = "/page/sign-out";

const PATHS_OF_VIEWERS: ReadonlySet<string> = new Set([
  EVENTS_PATH,
  ...[...PLACES, ...DOWNLOADS].flatMap(({ path, viewer }) => (viewer === undefined ? [] : [path])),
]);

/**
 * Why a request is refused because of the role, in a sentence; null: it is not. Whatever does not say what a viewer sees of it is
 * refused, also what there is not. Pure.
 */
export function refusalOf(role: Role, method: string, path: string): string | null {
  if (role === "operator") return null;
  if (method === "POST") return path === SIGN_OUT_PATH ? null : "A viewer may look, and change nothing.";
  return PATHS_OF_VIEWERS.has(path) ? null : "This is not shown to viewers.";
}

/** The navigation of a role, for the place of a path. Pure. */
export function linksOf(role: Role, here: string): readonly Link[] {
  return PLACES.flatMap(({ path, name }) =>
    name === null || refusalOf(role, "GET", path) !== null ? [] : [{ path, name, isHere: path === here }],
  );
}
