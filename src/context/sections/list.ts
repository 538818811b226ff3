import {
  type BuiltInKind,
  type Context,
  messageCharacters,
  type Section,
  type Segment,
  type SegmentKey,
} from "../../core/context.ts";
import { BUILT_IN_KINDS } from "./section.ts";

/**
 * All sections of a context, in the order in which they are sent; together they are the whole request. The system
 * prompt and the dynamic part contain others: their tokens and characters are counted without those. Pure.
 */
export function contextSections({ tools, sections, segments }: Context): Section[] {
  const placed = (place: Section["place"]): Section[] => sections.filter((one) => one.place === place);
  const size = (key: SegmentKey): Size => sizeOf(segments.find((segment) => segment.key === key));
  const fixed = placed("static");
  const moving = placed("dynamic");
  const described = JSON.stringify(tools);
  const all = [
    section("tools", { characters: described.length, tokens: size("tools").tokens }),
    section("identity", without(size("system"), fixed)),
    ...fixed,
    section("summaries", size("summaries")),
    section("history", size("history")),
    section("due", size("due")),
    section("now", without(size("dynamic"), moving)),
    ...moving,
    section("turn", size("turn")),
  ];
  return all.filter(({ characters }) => characters.before > 0);
}

interface Size {
  readonly characters: number;
  readonly tokens: number;
}

function sizeOf(segment: Segment | undefined): Size {
  if (segment === undefined) return { characters: 0, tokens: 0 };
  const characters = segment.messages.reduce((sum, message) => sum + messageCharacters(message), 0);
  return { characters, tokens: segment.tokens };
}

function without(whole: Size, held: readonly Section[]): Size {
  const sum = (of: (one: Section) => number): number => held.reduce((total, one) => total + of(one), 0);
  return {
    characters: Math.max(0, whole.characters - sum(({ characters }) => characters.after)),
    tokens: Math.max(0, whole.tokens - sum(({ tokens }) => tokens.after)),
  };
}

function section(kind: BuiltInKind, { characters, tokens }: Size): Section {
  return builtInSection(kind, {
    text: "",
    characters: { before: characters, after: characters },
    tokens: { before: tokens, after: tokens },
  });
}

/** A section's properties besides its kind. */
export interface BuiltIn extends Pick<Section, "text" | "characters" | "tokens"> {
  readonly evidence?: readonly string[];
}

/** A section that Weir itself puts into a context. Pure. */
export function builtInSection(kind: BuiltInKind, known: BuiltIn): Section {
  const { priority, isProtected, place, scope, label, source, reason } = BUILT_IN_KINDS[kind];
  // The emergency has fitted it before it becomes a section.
  return {
    key: kind,
    kind,
    label,
    source,
    reason,
    scope,
    priority,
    isProtected,
    place,
    state: "whole",
    evidence: [],
    ...known,
  };
}
