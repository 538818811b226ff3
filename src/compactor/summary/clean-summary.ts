import { escapeLabels } from "../../context/render.ts";
import { storableText } from "../../text/text.ts";

const FENCED = /^```[\w-]*\n([\s\S]*?)\n?```$/;
const TAGGED = /^<summary>([\s\S]*?)<\/summary>$/i;
/** What models like to put before a summary: the label under which they read one, or a heading. */
const ECHO =
  /^(?:\\?\[(?:compaction )?summary\]\s*:?|[#*_>\s]*(?:compaction )?summary[*_ ]*:[*_]*|#+ *(?:compaction )?summary *(?:\n|$)|here (?:is|'s) (?:the|a|my) (?:\w+ )?summary[^\n:]{0,40}:)\s*/i;

/** What stands behind that label: times and a count. */
const SPAN_ECHO = /^\(\d{4}-\d\d-\d\d \d\d:\d\d(?: – [\d :-]{5,16})?, [\d,]+ messages?\)\s*/;

/** Fences, tags and labels round one another that are taken off: nobody means more, and each takes a look at the whole. */
const MOST_PEELINGS = 16;

/** A model's summary as it is kept: without what stands round it, storable, and with no label of Weir's own in it. */
export function cleanSummary(text: string): string {
  let rest = storableText(text).replaceAll("\r\n", "\n").trim();
  for (let peelings = 0; peelings < MOST_PEELINGS; peelings++) {
    const before = rest;
    rest = (FENCED.exec(rest)?.[1] ?? TAGGED.exec(rest)?.[1] ?? rest).trim();
    rest = rest.replace(ECHO, "").replace(SPAN_ECHO, "").trim();
    if (rest === before) break;
  }
  return escapeOnce(rest);
}

/**
 * A label that a model repeats must not gain authority in the next prompt, nor a line that it quotes pass for one that
 * was said there. What is escaped stays as it is, or each merge would add a mark.
 */
function escapeOnce(text: string): string {
  // Behind another character, `escapeLabels` takes nothing for the head of a line.
  const escapeRest = (piece: string): string => escapeLabels(`.${piece}`).slice(1);
  const inLine = (line: string): string =>
    line
      .split("\\[")
      .map((piece, index) => (index === 0 ? escapeLabels(piece) : escapeRest(piece)))
      .join("\\[");
  return text.split("\n").map(inLine).join("\n");
}
