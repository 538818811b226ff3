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
import { firstSlow, stopping, type Work } from "./growth.ts";

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
const TEXTS = ["a", " ", "=", "```\n", "a://b ", "\u0316\u0301"].map((unit) =>
  growing({ head: "", unit, end: "\u0001" }),
);

for (const [name, work] of Object.entries(WORKS))
  test(`${name} takes time that grows with the text alone`, () => {
    const why = stopping(ENDLESS_MS, () => firstSlow(work, TEXTS));
    assert.equal(why, null);
  });
