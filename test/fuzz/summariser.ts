import type { ToolCall } from "../../src/core/entry.ts";
import { estimateTokens } from "../../src/text/tokens.ts";
import { ModelError, type ModelAnswer, type ModelRequest } from "../../src/llm/model.ts";
import { piecesOf } from "../../src/llm/offline/transcript.ts";
import { SEEN } from "./looks.ts";
import { estimateRequest } from "./prompt.ts";
import { SUMMARISER } from "./profile.ts";
import { Random } from "./random.ts";
import type { SummaryMode } from "./schedule.ts";
import { badMarkerOf, EDITED, MARKER, words } from "./texts.ts";

type Said = Pick<ModelAnswer, "text" | "calls" | "finish">;

const MIXED = ["good", "good", "empty", "inflated", "refused", "cut_off", "transport"] as const;

/** What the summariser answers. Whatever is bad has a word by which it is known wherever it ends up. */
export function summarise(mode: SummaryMode, request: ModelRequest, n: number): Said {
  const random = new Random(n * 97 + 3);
  const bad = badMarkerOf(n);
  switch (mode === "mixed" ? random.pick(MIXED) : mode) {
    case "empty":
      if (n % 2 === 0) throw new ModelError("empty", SUMMARISER, "scripted");
      return { text: " … ", calls: [], finish: "stop" };
    case "inflated":
      // A word takes a token at least: longer than the request allows, and than what is summarised.
      return {
        text: `${bad} ${words(random, Math.max(400, 2 * (request.textLimit ?? 0), estimateRequest(request)))}`,
        calls: [],
        finish: "stop",
      };
    case "refused":
      return { text: `I'm sorry, but I can't summarise this. ${bad}`, calls: [], finish: "stop" };
    case "cut_off":
      return { text: `${bad} Ann wants`, calls: [], finish: "length" };
    case "transport":
      throw new ModelError("unavailable", SUMMARISER, "scripted");
    default:
      return request.task === "revise" ? revise(request, random) : summariseWell(request, random, n);
  }
}

function summariseWell(request: ModelRequest, random: Random, n: number): Said {
  const isFirst = !request.messages.some(({ role }) => role === "assistant");
  const maySave = request.tools.length > 0 && request.toolChoice === "auto" && isFirst;
  if (maySave && random.chance(0.6)) {
    const saved = memories(request, random);
    if (saved !== null) return { text: "", calls: [saved], finish: "tool_calls" };
  }
  return { text: summaryText(request, n), calls: [], finish: "stop" };
}

const STATEMENT = /^(\d+)\. \[/gm;

/** Changes between any of the statements, also such that must not be made. */
function revise({ messages }: ModelRequest, random: Random): Said {
  const numbers = messages.flatMap(({ text }) =>
    [...text.matchAll(STATEMENT)].map(([, number]) => Number(number)),
  );
  const changes = Array.from({ length: random.int(0, 3) }, () => ({
    new: random.pick(numbers),
    old: random.pick(numbers),
    change: random.pick(["replaces", "repeats", "contradicts"]),
  }));
  const call = { id: "revise-1", name: "memory_revise", arguments: JSON.stringify({ changes }) };
  return { text: "", calls: [call], finish: "tool_calls" };
}

/** How the summary before the range begins. */
const BACKGROUND = "[System: background";
const MOST_FIRST = 2;

/**
 * Names as many of the markers as fit, the newest first: what a deletion has to find. Two in three tell first of what edits have brought, here
 * and before their range: what a further edit has to find.
 */
function summaryText(request: ModelRequest, n: number): string {
  const limit = (request.textLimit ?? 40) * 0.9;
  const asked = piecesOf(request.messages).flatMap(({ role, text }) => (role === "user" ? text : []));
  const markers = asked.flatMap((text) => text.match(MARKER) ?? []);
  const before = asked
    .filter((text) => text.startsWith(BACKGROUND))
    .flatMap((text) => text.match(MARKER) ?? []);
  const edited = asked.flatMap((text) => [...text.matchAll(EDITED)].flatMap(([, , marker]) => marker ?? []));
  const first = n % 3 > 0 ? [...edited.slice(-MOST_FIRST), ...before.slice(0, MOST_FIRST)] : [];
  let text = `summary ${n}`;
  for (const marker of new Set([...first, ...markers.toReversed()])) {
    const longer = `${text} ${marker}`;
    if (estimateTokens(longer) > limit) break;
    text = longer;
  }
  return text;
}

const LINE = /^(\d+)\. \[[^\]]*\] (Ann|Ben|Cleo|Dov|Eri): ((?:\S+ ?){1,4})/gm;

/** What the tool found out. All is about one subject, so that each newer call ends what an older one found. */
function seenOf([, number, sentence = ""]: RegExpExecArray): object {
  return { type: "fact", subject: "depot", statement: sentence, quote: sentence, sources: [Number(number)] };
}

/** Good ones, some that tell what another line than the cited one says, and some that must not pass the gates. */
function memories(request: ModelRequest, random: Random): ToolCall | null {
  const lines = request.messages.flatMap(({ text }) => [...text.matchAll(LINE)]);
  const seen = request.messages.flatMap(({ text }) => [...text.matchAll(SEEN)]);
  if (lines.length === 0) return null;
  const items = Array.from({ length: random.int(1, 3) }, () => {
    if (seen.length > 0 && random.chance(0.5)) return seenOf(random.pick(seen));
    const [, number = "1", author = "Ann", quote = ""] = random.pick(lines);
    const good = {
      type: random.pick(["fact", "preference", "decision"]),
      subject: author,
      statement: `${author} said ${quote.trim()}`,
      quote: quote.trim(),
      sources: [Number(number)],
      importance: 0.5,
    };
    const roll = random.next();
    if (roll < 0.15) return { ...good, quote: "nobody ever wrote this", statement: "unfounded one" };
    if (roll < 0.3) return { ...good, sources: [9999], statement: "unfounded two" };
    // What one has said, and another one wants remembered.
    const [, , other = "Ann", told = ""] = random.pick(lines);
    if (roll < 0.65) return { ...good, subject: other, statement: `${other} said ${told.trim()}` };
    return good;
  });
  return { id: "save-1", name: "memory_save", arguments: JSON.stringify({ memories: items }) };
}
