import type { Place } from "../place.ts";
import { channelPlace } from "./channel.ts";
import { overviewPlace } from "./overview.ts";
import { sourcePlace } from "./source.ts";
import { whatIfPlace } from "./what-if.ts";

/** All places of the page, in the order of the navigation. */
export const PLACES: readonly Place[] = [overviewPlace, channelPlace, sourcePlace, whatIfPlace];
