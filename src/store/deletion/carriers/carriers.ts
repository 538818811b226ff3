import type { Carrier } from "../carrier.ts";
import { CALLS } from "./calls.ts";
import { CONTEXT_RECORDS } from "./context-records.ts";
import { DUE_WORK } from "./due-work.ts";
import { ENTRIES } from "./entries.ts";
import { IMAGES } from "./images.ts";
import { JOBS } from "./jobs.ts";
import { MEMORIES } from "./memories.ts";
import { QUOTES } from "./quotes.ts";
import { SUMMARIES } from "./summaries.ts";
import { VECTORS } from "./vectors.ts";

/**
 * Everything that can hold words of people, in the order in which words are removed: messages and due work first, whose texts decide what
 * other rows repeat; calls before what is made of them; summaries last, as extracts of what remains.
 * @param features the carriers of features, in any order: they do not depend on each other
 */
export function allCarriers(features: readonly Carrier[]): readonly Carrier[] {
  return [
    ENTRIES,
    QUOTES,
    DUE_WORK,
    ...features,
    CALLS,
    IMAGES,
    MEMORIES,
    JOBS,
    SUMMARIES,
    CONTEXT_RECORDS,
    VECTORS,
  ];
}
