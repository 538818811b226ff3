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

/** All files that the page makes. */
export const DOWNLOADS: readonly Download[] = [usageDownload];

/** All that forms of the page do. */
export const ACTS: readonly Act[] = [waitingAct, channelAct, sayAct, forgetAct, checkAct, saveAct];
