import type { Arm, PeerName } from "./peer.ts";

export const CACHES = ["prefix", "breakpoints", "blocks"] as const;
/** `cache_markers` of a model with this cache. */
const MARKERS: Readonly<Record<(typeof CACHES)[number], string>> = {
  prefix: "false",
  breakpoints: '"breakpoints"',
  blocks: "true",
};
/** Of each message and each answer: together about 510 tokens a turn, as in `bench -- cost`. */
export const CHARACTERS = 1020;
const WORDS = CHARACTERS / 6;
/** The conversation of the bill goes on at ten times people's speed, a turn each 400 ms. */
export const BILLED_SUMMARY_MS = 2000;

/** Ms; a turn's pace is a tenth of it. */
export function slowSummaryMs(isQuick: boolean): number {
  return isQuick ? 4000 : 20_000;
}

/** The ways in which a peer holds its conversations; a model's name is its own, so that its requests can be told apart. */
export function armsOf(name: PeerName, isQuick: boolean): Arm[] {
  const slow = (id: string): Arm => ({
    id,
    model: `reply-200-${WORDS}+prefix+${name}+${id}`,
    summariser: `summary-${slowSummaryMs(isQuick)}+prefix+${name}+${id}`,
  });
  return [
    { id: "own", model: `reply-0-8+${name}`, summariser: `summary-0+${name}` },
    ...CACHES.map((cache) => ({
      id: cache,
      model: `reply-0-${WORDS}+${cache}+${name}`,
      summariser: `summary-${BILLED_SUMMARY_MS}+${cache}+${name}`,
      markers: MARKERS[cache],
    })),
    slow("slow"),
    ...(name === "langgraph" ? [{ ...slow("whole"), summariserReads: 1_000_000 }] : []),
    { id: "killed", model: `reply-5000-8+${name}`, summariser: `summary-0+${name}+killed` },
  ];
}
