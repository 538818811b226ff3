import assert from "node:assert/strict";
import { test } from "node:test";
import { costsByType } from "../../../src/admin/reports/context-costs.ts";
import type { Section, SectionKind } from "../../../src/core/context.ts";

function section(kind: SectionKind, place: Section["place"], tokens: number): Section {
  return {
    key: kind,
    kind,
    label: kind,
    source: kind,
    scope: "agent",
    reason: "always",
    evidence: [],
    priority: 1,
    isProtected: false,
    place,
    text: "",
    state: "whole",
    characters: { before: 0, after: 0 },
    tokens: { before: tokens * 2, after: tokens },
  };
}

const SEGMENTS = [
  { key: "tools", tokens: 10 },
  { key: "system", tokens: 100 },
  { key: "summaries", tokens: 20 },
  { key: "history", tokens: 300 },
  { key: "due", tokens: 30 },
  { key: "dynamic", tokens: 80 },
  { key: "turn", tokens: 7 },
] as const;

test("a request's tokens are told by what they are spent on, and add up", () => {
  const sections = [
    section("soul", "static", 60),
    section("memory", "dynamic", 20),
    section("skills", "dynamic", 5),
    section("note", "dynamic", 15),
  ];
  const costs = costsByType({ segments: SEGMENTS, sections }, (tokens) => tokens);
  assert.deepEqual(costs, {
    system: 100,
    tools: 10,
    summaries: 20,
    history: 337,
    memory: 20,
    skills: 5,
    notes: 15,
    candidates: 0,
    other: 40,
  });
});

test("no type is below 0, whatever a section is estimated at", () => {
  const costs = costsByType({ segments: SEGMENTS, sections: [section("memory", "dynamic", 500)] }, (n) => n);
  assert.equal(costs.other, 0);
  assert.equal(costs.memory, 80);
});
