import type { TokenUsage } from "../model.ts";

/** How a window is known that was learned: the server's refusal said it, its counts show it, or requests around it were refused and answered. */
export type LearnedSource = "told" | "measured" | "guessed";

/** A window that may be smaller than it is believed to be. */
export interface Suspicion {
  /** Tokens of the window that the answered request was made for. */
  readonly window: number;
  /** Estimated tokens of that request, and of the larger one that was refused. */
  readonly answered: number;
  readonly refused: number;
  /** Of the refusal, without numbers. */
  readonly words: string;
}

/** What one model at its server has told of its window by what it answered and refused. */
export interface WindowEvidence {
  /** Real tokens per estimated token. */
  readonly factor: number;
  /** Estimated tokens of the largest request that was answered since the start. */
  readonly answered: number;
  readonly suspicion: Suspicion | null;
  suspect(suspicion: Suspicion | null): void;
  learn(tokens: number, source: LearnedSource): void;
  /** @param usage undefined: the server has counted nothing */
  noteAnswer(request: SentSize, usage: TokenUsage | undefined): void;
}

/** How large a request was that was sent. */
export interface SentSize {
  /** Tokens of the whole request. */
  readonly estimated: number;
  /** What they count is the provider's secret. */
  readonly hasImages: boolean;
  /** What it counts tells what a token of our estimates is worth. */
  readonly teachesFactor: boolean;
}

/** An answered request, as its server has counted it. */
export interface Reading {
  readonly estimated: number;
  readonly reported: number;
}

/** Readings that are looked at. */
export const READINGS = 3;
/** Windows are round numbers; counts of requests seldom are. */
const ROUND = 1024;
/** A count by so much below its estimate is short of it. */
const SHORT = 0.8;
/** Smaller counts tell nothing of a window. */
const LEAST_READING = 1024;

/**
 * A server's token count of a whole request, as evidence of a silent cut.
 * @returns null: nothing, for it leaves out what was cached, or counts pictures
 */
export function readingOf(
  { estimated, hasImages }: Pick<SentSize, "estimated" | "hasImages">,
  usage: TokenUsage | undefined,
  factor: number,
): Reading | null {
  if (usage === undefined || hasImages || usage.promptTokens < LEAST_READING) return null;
  const { promptTokens, cachedTokens } = usage;
  const isShort = promptTokens < estimated * factor * SHORT;
  // Some servers count what was cached apart.
  if (isShort && promptTokens + cachedTokens >= estimated * factor * SHORT && cachedTokens > 0) return null;
  return { estimated, reported: promptTokens };
}

/**
 * The window to which a server cuts requests without a word, as Ollama does: its counts stand still while requests grow. Three equal
 * counts of requests that grow are no chance; nor are three of any that differ, where the number is as round as a window and far below
 * the estimates. Counts that are only near each other are no proof: a server that leaves out what it had cached counts like that.
 * @param readings the newest last
 * @param most the largest count that was reported so far
 * @returns tokens; null: no cut
 */
export function silentCut(readings: readonly Reading[], factor: number, most: number): number | null {
  const [first, second, last] = readings.slice(-READINGS);
  if (first === undefined || second === undefined || last === undefined || last.reported < most) return null;
  const { reported } = last;
  if (first.reported !== reported || second.reported !== reported) return null;
  const sizes = [first, second, last].map(({ estimated }) => estimated);
  const isFarBelow = reported % ROUND === 0 && reported < Math.min(...sizes) * factor * SHORT;
  const haveGrown = first.estimated < second.estimated && second.estimated < last.estimated;
  return haveGrown || (isFarBelow && new Set(sizes).size === READINGS) ? reported : null;
}
