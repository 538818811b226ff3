// proves: src/memory/support-gate.ts, src/memory/statement-support.ts, src/memory/told-as.ts, src/text/number-words.ts
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { checkMemories } from "../../src/memory/gates.ts";
import { said } from "./said.ts";
import { refusalOf, statements, type Stated } from "./stated.ts";

const all = statements();
const share = (kept: readonly Stated[], of: readonly Stated[]): number => kept.length / of.length;

describe("of what people of made-up conversations say, in five languages,", () => {
  test("nine in ten true statements are kept", () => {
    const gold = all.filter(({ kind }) => kind === "gold");
    assert.ok(
      share(
        gold.filter((one) => refusalOf(one) === null),
        gold,
      ) >= 0.9,
    );
  });

  for (const kind of ["written", "swapped name", "other line", "invented tail", "negation flipped"] as const)
    test(`hardly a false one is: ${kind}`, () => {
      const made = all.filter((one) => one.kind === kind);
      assert.ok(made.length > 40);
      const kept = made.filter((one) => refusalOf(one) === null);
      assert.ok(share(kept, made) <= 0.05, kept.map(({ statement }) => statement).join("\n"));
    });
});

/** Why a statement of Ann's lines is refused; null: it is kept. */
function why(
  lines: readonly string[],
  statement: string,
  quote: string,
  line: number,
  more: object = {},
): string | null {
  const sources = new Map(lines.map((text, index) => [index + 1, said(index + 1, text)]));
  const { dropped } = checkMemories(
    { memories: [{ type: "fact", subject: "Ann", statement, quote, sources: [line], ...more }] },
    { sources, promptText: "", agentName: "Weir", dayOf: (at) => at.toISOString().slice(0, 10) },
  );
  return dropped[0]?.reason ?? null;
}

test("names, numbers and paths may stand within five lines, other words within two", () => {
  const lines = ["the mill is called Zxqmill", "one", "two", "three", "four", "I bought the mill", "six"];
  assert.equal(why(lines, "Ann bought Zxqmill.", "I bought the mill", 6), null);
  assert.equal(
    why(
      ["Zxqmill", ...lines.slice(1, 5), "five", "I bought the mill"],
      "Ann bought Zxqmill.",
      "I bought the mill",
      7,
    ),
    "unsaid",
  );
  assert.equal(why(["I keep it in /srv/a.txt"], "Ann keeps it in /srv/a.txt.", "I keep it", 1), null);
  assert.equal(why(["I keep it in /srv/a.txt"], "Ann keeps it in /srv/b.txt.", "I keep it", 1), "unsaid");
});

test("numbers are the same in words, in digits and with separators; days follow from the day of the line", () => {
  assert.equal(why(["I have seven geese"], "Ann has 7 geese.", "I have seven geese", 1), null);
  assert.equal(why(["it cost me 90.000 euros"], "Ann paid 90,000 euros.", "it cost me", 1), null);
  assert.equal(why(["I fly to Oslo tomorrow"], "Ann flies to Oslo on 2026-11-22.", "I fly to Oslo", 1), null);
  assert.equal(
    why(["I fly to Oslo tomorrow"], "Ann flies to Oslo on 2026-12-22.", "I fly to Oslo", 1),
    "unsaid",
  );
});

test("whoever speaks for somebody else is named", () => {
  const lines = ["Dora told me that she sells the mill"];
  assert.equal(why(lines, "Dora sells the mill.", "she sells the mill", 1), "no_fact");
  assert.equal(why(lines, "Dora told Ann that she sells the mill.", "she sells the mill", 1), null);
});

test("a proposal that somebody agrees to may be a decision", () => {
  const ben = { author: { id: "u-ben", name: "Ben", isBot: false } };
  const sources = new Map([
    [1, said(1, "let's paint the gate green")],
    [2, said(2, "sounds good", ben)],
  ]);
  const decided = {
    subject: "the gate",
    statement: "The gate is painted green.",
    quote: "paint the gate green",
    sources: [1],
  };
  const reasonOf = (type: string): string | undefined =>
    checkMemories(
      { memories: [{ type, ...decided }] },
      { sources, promptText: "", agentName: "Weir", dayOf: (at) => at.toISOString().slice(0, 10) },
    ).dropped[0]?.reason;
  assert.equal(reasonOf("decision"), undefined);
  assert.equal(reasonOf("fact"), "no_fact");
});

test("what somebody asks to be remembered is kept as they say it", () => {
  const sources = new Map([[1, said(1, "we could meet in Oslo")]]);
  const item = {
    type: "fact",
    subject: "Ann",
    statement: "we could meet in Oslo",
    quote: "we could meet in Oslo",
    sources: [1],
  };
  const context = {
    sources,
    promptText: "",
    agentName: "Weir",
    dayOf: (at: Date) => at.toISOString().slice(0, 10),
  };
  assert.equal(checkMemories({ memories: [item] }, { ...context, lines: "asked" }).kept.length, 1);
});
