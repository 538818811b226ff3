import type { Download, Place } from "../place.ts";
import { channelPlace } from "./channel.ts";
import { memoriesPlace } from "./memories.ts";
import { overviewPlace } from "./overview.ts";
import { sourcePlace } from "./source.ts";
import { whatIfPlace } from "./what-if.ts";
import { settingsPlace } from "./settings.ts";
import { turnPlace } from "./turn.ts";
import { usageDownload, usagePlace } from "./usage.ts";
import { waitingPlace } from "./waiting.ts";

/** All places of the page, in the order of the navigation. */
export const PLACES: readonly Place[] = [
  overviewPlace,
  waitingPlace,
  channelPlace,
  sourcePlace,
  turnPlace,
  whatIfPlace,
  memoriesPlace,
  usagePlace,
  settingsPlace,
];

/** All files that the page makes. */
export const DOWNLOADS: readonly Download[] = [usageDownload];
