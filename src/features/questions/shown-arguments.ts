import { formatNumber } from "../../text/format.ts";
import { sliceVisible, visible, visibleString, weightOf } from "../../text/visible.ts";

/** Longest arguments on one line. Right-to-left text never stands on one line: it would be displayed in another order. */
const LONGEST_LINE = 80;
const RIGHT_TO_LEFT = /[\p{scx=Hebr}\p{scx=Arab}\p{scx=Syrc}\p{scx=Thaa}\p{scx=Nkoo}\p{scx=Adlm}]/u;
/** Indented levels: deeper ones would cost too much space on each line. */
const MOST_INDENTED = 12;

/**
 * A call's arguments for the approver, as the call would receive them: the last value of a repeated key, and numbers as parsed.
 * Strings are written by {@link visibleString}. Nothing in the result ends a code block. Pure.
 * @param masked takes the operator's secrets out of a text
 */
export function shownArguments(
  json: string,
  masked: (text: string) => string,
  layout: "line" | "lines" = "lines",
): string {
  // A run of backticks would end a code block.
  return written(json, masked, layout).replaceAll(/`{3,}/g, (row) => String.raw`\u{60}`.repeat(row.length));
}

function written(json: string, masked: (text: string) => string, layout: "line" | "lines"): string {
  try {
    const value: unknown = json.trim() === "" ? {} : JSON.parse(json);
    const line = onLine(value, masked);
    const isShort = line.length <= LONGEST_LINE && !RIGHT_TO_LEFT.test(line);
    return layout === "line" || isShort ? line : onLines(value, masked, 0);
  } catch {
    // Not JSON, or too deep: no approval is requested for it, but an older row may have it.
    return visible(masked(json));
  }
}

function scalar(value: unknown, masked: (text: string) => string): string {
  if (typeof value === "string") return visibleString(masked(value));
  if (Object.is(value, -0)) return "-0";
  return masked(String(value));
}

function onLine(value: unknown, masked: (text: string) => string): string {
  if (Array.isArray(value)) return `[${value.map((item) => onLine(item, masked)).join(",")}]`;
  if (typeof value !== "object" || value === null) return scalar(value, masked);
  const pairs = Object.entries(value).map(
    ([key, inner]) => `${visibleString(masked(key))}:${onLine(inner, masked)}`,
  );
  return `{${pairs.join(",")}}`;
}

function onLines(value: unknown, masked: (text: string) => string, depth: number): string {
  const end = `\n${"  ".repeat(Math.min(depth, MOST_INDENTED))}`;
  const indent = `${end}  `;
  // The lines of a text stand below each other, each with the sign of its end.
  if (typeof value === "string")
    return scalar(value, masked).replaceAll(/\\.(?!"$)/g, (pair) => (pair === "\\n" ? pair + indent : pair));
  if (typeof value !== "object" || value === null) return scalar(value, masked);
  const inner = (item: unknown): string => onLines(item, masked, depth + 1);
  if (Array.isArray(value))
    return value.length === 0 ? "[]" : `[${indent}${value.map(inner).join(`,${indent}`)}${end}]`;
  const pairs = Object.entries(value).map(([key, item]) => {
    const name = visibleString(masked(key));
    // On the line of a right-to-left key, the value would be displayed before the key.
    const gap = RIGHT_TO_LEFT.test(name) ? `${indent}  ` : " ";
    return `${name}:${gap}${inner(item)}`;
  });
  return pairs.length === 0 ? "{}" : `{${indent}${pairs.join(`,${indent}`)}${end}}`;
}

/** The part that fits, with a sentence on how much is left out and where to read it. */
export interface ShownPart {
  readonly text: string;
  readonly isWhole: boolean;
}

/** @param limit of what is shown, as {@link weightOf} counts */
export function shownPart(whole: string, limit: number, more: string): ShownPart {
  if (weightOf(whole) <= limit) return { text: whole, isWhole: true };
  const text = sliceVisible(whole, limit);
  return {
    text: `${text}… and ${formatNumber(whole.length - text.length)} characters more: ${more}`,
    isWhole: false,
  };
}

/** Pieces of a text that is shown on several pages. */
export function pagesOf(whole: string, limit: number): string[] {
  const pages: string[] = [];
  let rest = whole;
  do {
    const page = sliceVisible(rest, limit);
    pages.push(page);
    rest = rest.slice(page.length);
  } while (rest !== "");
  return pages;
}
