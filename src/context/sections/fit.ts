import type { Section } from "../../core/context.ts";
import { headAndTail } from "../../text/text.ts";
import { estimateTokens } from "../../text/tokens.ts";

export interface SectionLimits {
  /** Characters of one section. */
  readonly each: number;
  /** Characters of all of them. */
  readonly all: number;
  /** Estimated tokens of all of them: a limit in characters does not suit Chinese. */
  readonly tokens: number;
  /** Estimated tokens of those after the messages, which leave room for recalled lines. */
  readonly dynamicTokens: number;
}

/** For a large window. */
const LARGE = { each: 20_000, all: 150_000 } as const;
/** The smallest useful limits. */
const SMALL = { each: 1000, all: 4000 } as const;
/** Share of the usable window, at four characters a token. */
const SHARE = 0.25;
const DYNAMIC_SHARE = 0.125;
const CHARACTERS_A_TOKEN = 4;

/** @param usable tokens of the window that a request may use */
export function sectionLimits(usable: number): SectionLimits {
  const all = clamp(usable * SHARE * CHARACTERS_A_TOKEN, SMALL.all, LARGE.all);
  return {
    each: clamp((all * LARGE.each) / LARGE.all, SMALL.each, LARGE.each),
    all,
    tokens: Math.floor(usable * SHARE),
    dynamicTokens: Math.floor(usable * DYNAMIC_SHARE),
  };
}

function clamp(value: number, least: number, most: number): number {
  return Math.floor(Math.min(Math.max(value, least), most));
}

/** A shorter part of a section is left out. */
const SHORTEST = 200;

/**
 * Fits sections into their limits: protected ones stay whole at any size; the others are taken by descending priority.
 * Pure. @returns all sections, in the same order
 */
export function fitSections(sections: readonly Section[], limits: SectionLimits): Section[] {
  const left = { characters: limits.all, tokens: limits.tokens };
  const fitted = new Map<Section, Section>();
  const take = (section: Section, text: string): void => {
    const after = text.length;
    const tokens = text === section.text ? section.tokens.before : estimateTokens(text);
    left.characters -= after;
    left.tokens -= tokens;
    fitted.set(section, {
      ...section,
      text,
      state: text === section.text ? "whole" : text === "" ? "left out" : "cut",
      characters: { ...section.characters, after },
      tokens: { ...section.tokens, after: tokens },
    });
  };
  for (const section of sections) if (section.isProtected) take(section, section.text);
  const rest = sections.filter(({ isProtected }) => !isProtected);
  for (const section of rest.toSorted((a, b) => b.priority - a.priority)) {
    take(section, cutTo(section.text, Math.min(limits.each, left.characters), left.tokens));
  }
  return sections.map((section) => fitted.get(section) ?? section);
}

/** The remaining limits for the sections after the messages. */
export function limitsBehind(limits: SectionLimits, taken: readonly Section[]): SectionLimits {
  const sum = (of: (section: Section) => number): number => taken.reduce((total, one) => total + of(one), 0);
  return {
    each: limits.each,
    all: Math.max(0, limits.all - sum(({ characters }) => characters.after)),
    tokens: Math.max(0, Math.min(limits.dynamicTokens, limits.tokens - sum(({ tokens }) => tokens.after))),
    dynamicTokens: limits.dynamicTokens,
  };
}

/** The text, without its middle if it is too long; "" if hardly anything would be left. */
function cutTo(text: string, characters: number, tokens: number): string {
  let length = characters;
  for (;;) {
    const cut = text.length <= length ? text : length < SHORTEST ? "" : cutMiddle(text, length);
    const estimated = estimateTokens(cut);
    if (estimated <= tokens || cut === "") return cut;
    length = Math.floor(Math.min(length, cut.length) * Math.min(0.9, tokens / estimated));
  }
}

/** A cut moves back to the end of a line if that costs at most this share of the part. */
const LINE_SHARE = 0.5;

/**
 * 70 % of `limit` from the head and 20 % from the tail, around a marker with the original size; cut at near ends of
 * lines. Never longer than `limit`, which is at least 200 characters.
 */
function cutMiddle(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const { head, tail } = headAndTail(text, limit);
  const end = head.lastIndexOf("\n");
  const begin = tail.indexOf("\n") + 1;
  const wholeHead = end >= head.length * (1 - LINE_SHARE) ? head.slice(0, end) : head;
  // A part of a line must not become the beginning of one.
  const wholeTail = begin > 0 && begin <= tail.length * LINE_SHARE ? `\n${tail.slice(begin)}` : ` ${tail}`;
  return `${wholeHead}\n[… cut: ${text.length} in all …]${wholeTail}`;
}
