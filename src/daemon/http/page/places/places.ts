import type { Act, Download, Place } from "../place.ts";
import { channelPlace } from "./channel.ts";
import { forgetAct, forgetPlace } from "./forget.ts";
import { channelAct, channelActsPlace } from "./channel-acts.ts";
import { memoriesPlace } from "./memories.ts";
import { overviewPlace } from "./overview.ts";
import { sayAct } from "./say.ts";
import { sourcePlace } from "./source.ts";
import { replayPlace } from "./replay.ts";
import { searchPlace } from "./search.ts";
import { whatIfPlace } from "./what-if.ts";
import { checkAct, editPlace, saveAct } from "./edit-settings.ts";
import { settingsPlace } from "./settings.ts";
import { turnPlace } from "./turn.ts";
import { usageDownload, usagePlace } from "./usage.ts";
import { waitingAct, waitingPlace } from "./waiting.ts";
import { EVENTS_PATH } from "../channel/live-line.ts";
import type { Link } from "../markup.ts";
import type { Role } from "../roles.ts";

/** All places of the page, in the order of the navigation. */
export const PLACES: readonly Place[] = [
  overviewPlace,
  waitingPlace,
  channelPlace,
  sourcePlace,
  replayPlace,
  searchPlace,
  turnPlace,
  whatIfPlace,
  channelActsPlace,
  memoriesPlace,
  forgetPlace,
  usagePlace,
  settingsPlace,
  editPlace,
];

export const DOWNLOADS: readonly Download[] = [usageDownload];

export const ACTS: readonly Act[] = [waitingAct, channelAct, sayAct, forgetAct, checkAct, saveAct];

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
