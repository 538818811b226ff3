import type { Anchor } from "../../core/calibration.ts";
import type { TokenUsage } from "../model.ts";

/**
 * The source of a learned window: stated in the server's refusal, measured by its counts, or guessed from refused and
 * answered requests around it.
 */
export type LearnedSource = "told" | "measured" | "guessed";

/** A window that may be smaller than assumed. */
export interface Suspicion {
  /** Tokens of the window for which the answered request was made. */
  readonly window: number;
  /** Estimated tokens of that request, and of the larger refused one. */
  readonly answered: number;
  readonly refused: number;
  /** The refusal's words without numbers. */
  readonly words: string;
}

/** Evidence of one model's window from its answers and refusals. */
export interface WindowEvidence {
  /** Real tokens per estimated token. */
  readonly factor: number;
  /** Estimated tokens of the largest answered request since the start. */
  readonly answered: number;
  readonly suspicion: Suspicion | null;
  suspect(suspicion: Suspicion | null): void;
  learn(tokens: number, source: LearnedSource): void;
  /** @param usage undefined: the server has reported nothing */
  noteAnswer(request: SentSize, usage: TokenUsage | undefined): void;
}

export interface SentSize {
  /** Tokens of the whole request. */
  readonly estimated: number;
  /** Pictures are counted by a rule that only the provider knows. */
  readonly hasImages: boolean;
  /** Its token count may correct our estimates. */
  readonly teachesFactor: boolean;
}

/** Number of readings that are compared. */
export const READINGS = 5;
/** Windows are round numbers; counts of requests seldom are. Fewer readings with such a count are enough. */
const ROUND = 1024;
const ROUND_READINGS = 3;
/** Growth of the estimates over readings with a count that is not round. Less may be the estimates' error. */
const GROWN = 1.03;
/** Share of its estimate below which a count is too low. */
const SHORT = 0.8;
/** Smaller counts are no evidence of a window. */
const LEAST_READING = 1024;

/**
 * A server's token count of a whole request, as evidence of a silent cut.
 * @returns null: no evidence, since it leaves out cached tokens, or counts pictures
 */
export function readingOf(
  { estimated, hasImages }: Pick<SentSize, "estimated" | "hasImages">,
  usage: TokenUsage | undefined,
  factor: number,
): Anchor | null {
  if (usage === undefined || hasImages || usage.promptTokens < LEAST_READING) return null;
  const { promptTokens, cachedTokens } = usage;
  const isShort = promptTokens < estimated * factor * SHORT;
  // Some servers count cached tokens separately.
  if (isShort && promptTokens + cachedTokens >= estimated * factor * SHORT && cachedTokens > 0) return null;
  return { estimated, reported: promptTokens };
}

/**
 * The window to which a server silently cuts requests, as Ollama does: its counts stay constant while requests grow.
 * Equal counts of growing requests are evidence, and so are those of different requests, if the number is round like a
 * window and far below the estimates. Counts that are only close are not: a server that leaves out cached tokens may report
 * such counts. Where many channels have prompts of one size, equal counts happen by chance: so counts that are not round need
 * more readings and more growth.
 * @param readings the newest last
 * @param most the largest count that was reported so far
 * @returns tokens; null: no cut
 */
export function silentCut(readings: readonly Anchor[], factor: number, most: number): number | null {
  const reported = readings.at(-1)?.reported ?? 0;
  const isRound = reported % ROUND === 0;
  const needed = isRound ? ROUND_READINGS : READINGS;
  const newest = readings.slice(-needed);
  if (reported < most || newest.length < needed || newest.some((one) => one.reported !== reported))
    return null;
  const sizes = newest.map(({ estimated }) => estimated);
  const haveGrown =
    sizes.every((size, index) => index === 0 || size > (sizes[index - 1] ?? 0)) &&
    (isRound || (sizes.at(-1) ?? 0) >= (sizes[0] ?? 0) * GROWN);
  const isFarBelow = isRound && reported < Math.min(...sizes) * factor * SHORT;
  return haveGrown || (isFarBelow && new Set(sizes).size === needed) ? reported : null;
}
