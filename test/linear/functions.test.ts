import assert from "node:assert/strict";
import { test } from "node:test";
import { memoriesWith } from "../../src/admin/commands/forget.ts";
import { redact } from "../../src/config/redact.ts";
import { memberNamed } from "../../src/core/team.ts";
import { readResult } from "../../src/mcp/result.ts";
import { worthShowing } from "../../src/memory/recall-worth.ts";
import { hasRelativeDate } from "../../src/memory/relative-dates.ts";
import { toDiscord } from "../../src/platforms/discord/outbound/content.ts";
import { growing } from "./adversary.ts";
import { firstSlow, stopping, time, type Work } from "./growth.ts";
import { textFunctions } from "./sources.ts";

const ENDLESS_MS = 120_000;

/** Functions that took the square of their text, not for an expression alone. Two marks that sort one before the other are the hardest. */
const WORKS: Readonly<Record<string, Work>> = {
  worthShowing,
  hasRelativeDate,
  redact,
  toDiscord: (text) => toDiscord(text),
  readResult: (data) => readResult({ content: [{ type: "audio", data }] }, (text) => text),
  memberNamed: (text) => memberNamed([{ agent: null, name: "Weir", names: ["Weir"], roles: [] }], text),
  memoriesWith: (text) => memoriesWith(text, []),
};
const STRANGE = "\u0001";
const TEXTS = ["a", " ", "=", "```\n", "a://b ", "\u0316\u0301"].map((unit) =>
  growing({ head: "", unit, end: STRANGE }),
);
const MORE_TEXTS = ["a ", "\n", "漢", "<", "[", "*", "|", "1", "- a\n", "\u{1f600}", "\u202e", "&amp;"].map(
  (unit) => growing({ head: "", unit, end: "" }),
);

for (const [name, work] of Object.entries(WORKS))
  test(`${name} takes time that grows with the text alone`, () => {
    const why = stopping(ENDLESS_MS, () => firstSlow(work, TEXTS));
    assert.equal(why, null);
  });

/** Rooms whose functions are handed what people, servers and models write. What they do is pure. */
const ROOMS = [
  "core",
  "text",
  "context",
  "memory",
  "compactor",
  "mcp",
  "platforms",
  "router",
  "turn",
  "tools",
  "llm",
  "admin",
  "prompts",
];
/** A square of so many steps takes longer than that, ms, even where a step takes a fifth of a nanosecond. */
const LOOKED_AT = { length: 8000, ms: 10 };

test("each function of a text alone takes time that grows with it alone", async () => {
  const functions = await textFunctions(ROOMS);
  assert.ok(functions.length > 100, `${functions.length} functions were found`);
  const slow = functions.flatMap(({ site, call }) => {
    const work = (text: string): void => {
      try {
        call(text);
      } catch {
        // What it refuses, it has read.
      }
    };
    const suspects = [...TEXTS, ...MORE_TEXTS].filter(
      (one) => bestOf(work, one.text(LOOKED_AT.length)) > LOOKED_AT.ms,
    );
    const why = stopping(ENDLESS_MS, () => firstSlow(work, suspects));
    return why === null ? [] : [`${site}: ${why}`];
  });
  assert.deepEqual(slow, []);
});

/** The best of three, ms: the first call of a function takes longer. */
function bestOf(work: Work, text: string): number {
  let best = Infinity;
  for (let run = 0; run < 3 && best > LOOKED_AT.ms; run++) {
    best = Math.min(best, time(work, text, 1));
  }
  return best;
}
