import assert from "node:assert/strict";
import { suite, test } from "node:test";

import { isTolerable, missingFacts, requiredFacts } from "../../../src/compactor/summary/required-facts.ts";
import { linesOfTexts, type SourceLine } from "../../../src/compactor/summary/source.ts";
import { estimateTokens } from "../../../src/text/tokens.ts";
import { atOnce } from "../../support/at-once.ts";
import { line, result } from "./source-lines.ts";

const SHORT = { sourceTokens: 1000, wantedTokens: 400 };

function factsOf(lines: readonly SourceLine[], limits = SHORT) {
  return atOnce(requiredFacts(lines, limits));
}

const required = (...lines: readonly SourceLine[]): string[] => factsOf(lines).map(({ text }) => text);

function missing(summary: string, ...lines: readonly SourceLine[]): readonly string[] {
  return atOnce(missingFacts(summary, factsOf(lines))).map(({ text }) => text);
}

suite("a summary must not lose", () => {
  test("links, identifiers, numbers with their unit, and dates", () => {
    const facts = required(
      line("Ann", "We decided that the release is on 3 November, see https://example.org/plan?v=2."),
      line("Ben", "The fix for WEIR-412 is 9f86d081 in src/compactor/writer.ts, and it saves 340 ms."),
      line("Ann", "The budget is €2,000, version v1.4.2."),
    );
    for (const fact of [
      "We decided that the release is on 3 November, see https://example.org/plan?v=2.",
      "https://example.org/plan?v=2",
      "WEIR-412",
      "9f86d081",
      "src/compactor/writer.ts",
      "340 ms",
      "€2,000",
      "v1.4.2",
    ])
      assert.ok(facts.includes(fact), `${fact} of ${facts.join(" | ")}`);
    assert.deepEqual(required(line("Ann", "We decided on 3 November 2026.")), ["2026-11-03"]);
  });

  test("no secret that somebody has pasted", () => {
    const lines = [
      line("Ann", "We decided on WEIR-412."),
      line("Ben", "The password of the gauge-server01 is Zx9-pegel-2231, and the door code is 4711."),
      line("Ben", "Is sk-proj-Ab12Cd34Ef56Gh78Ij90Kl12Mn34Op56 the key that we should use there?"),
    ];
    assert.deepEqual(required(...lines), ["WEIR-412"]);
  });

  test("names of which several lines speak", () => {
    const lines = [
      line("Ann", "I asked for Weight Watchers and for Marvin at the desk."),
      line("Ben", "They said Marvin is on holiday, thanks Ann."),
    ];
    assert.deepEqual(required(...lines), ["Marvin"]);
  });

  test("the question that is open at the end", () => {
    const lines = [
      line("Ann", "The pump is fixed."),
      line("Ben", "Who takes the old sluice pump to the scrapyard?"),
    ];
    assert.deepEqual(required(...lines), ["Who takes the old sluice pump to the scrapyard?"]);
    assert.deepEqual(missing("Ben asks who takes the sluice pump to the scrapyard.", ...lines), []);
    assert.equal(missing("Ann repaired it.", ...lines).length, 1);
    // Somebody has answered.
    assert.deepEqual(required(...lines, line("Ann", "I will.")), []);
  });
});

suite("a summary may lose", () => {
  test("all of small talk", () => {
    const talk = [
      line("Ann", "hi Ben! how are you doing?"),
      line("Ben", "great, thanks Ann, had a coffee with 2 friends yesterday lol"),
      line("Ann", "same here, and/or tea :) see you on Monday, or at 7"),
      line("Ben", "ok, good night"),
    ];
    assert.deepEqual(required(...talk), []);
  });

  test("what tools returned", () => {
    assert.deepEqual(
      required(line("Ann", "ok"), result("https://example.org/a 34 € WEIR-9 in /var/log/x.log")),
      [],
    );
  });

  test("what is pasted: code, and all but the beginning of a long message", () => {
    const code = "```ts\nconst reply_limit = 4000;\nreadFile(srcDir);\n```";
    assert.deepEqual(required(line("Ann", `look: ${code}`)), []);
    const log = `it fails:\n${"nothing of note here, and on it goes\n".repeat(60)}WEIR-9 took 4500 ms`;
    assert.deepEqual(required(line("Ann", log)), []);
    assert.deepEqual(required(...linesOfTexts([log])), ["WEIR-9", "4500 ms"]);
  });

  test("nouns of a language that writes all of them like names", () => {
    const lines = [
      line("Ann", "Wir haben die Pumpe und die Schleuse geprüft."),
      line("Ben", "Ich hole die Pumpe und die Schleuse am Abend."),
    ];
    assert.deepEqual(required(...lines), []);
  });

  test("all but eight facts of a short stretch and twelve of a long one, and what is over a quarter of its length", () => {
    const many = Array.from({ length: 40 }, (_, index) => line("Ann", `We decided on WEIR-${100 + index}.`));
    assert.equal(factsOf(many).length, 8);
    const long = many.flatMap((one) => [one, line("Ben", "word ".repeat(200))]);
    assert.equal(factsOf(long, { sourceTokens: 9000, wantedTokens: 2000 }).length, 12);
    const short = factsOf(many, { ...SHORT, wantedTokens: 60 });
    assert.ok(short.reduce((sum, { text }) => sum + estimateTokens(text), 0) <= 15, `${short.length}`);
  });
});

suite("a fact stands in a summary", () => {
  const cases: readonly [source: string, summary: string][] = [
    ["We agreed on 2,000 chairs.", "They agreed on two thousand chairs."],
    ["We agreed on 2,000 chairs.", "They agreed on 2000 chairs."],
    ["We agreed on 2,000 chairs.", "They agreed on 2k chairs."],
    ["We agreed on 3.5 % less.", "Sie einigten sich auf 3,5 % weniger."],
    ["We decided on 3 November 2026.", "They decided on 2026-11-03."],
    ["We decided on 2026-11-03.", "They decided on 3 Nov."],
    ["We decided on 2026-11-03.", "They decided on Nov 3rd, 2026."],
    ["We decided: the release is tomorrow.", "The release is on 2026-11-22."],
    ["会議は11月24日に決定しました。", "会議は2026-11-24。"],
    ["See https://www.example.org/plan/.", "The plan: https://example.org/plan"],
    ["Look at `src/main.ts` first.", "The file `SRC/main.ts` comes first."],
  ];
  for (const [source, summary] of cases)
    test(`${source} – ${summary}`, () => {
      assert.ok(required(line("Ann", source)).length > 0, "nothing is required");
      assert.deepEqual(missing(summary, line("Ann", source)), []);
    });

  test("or is missing", () => {
    assert.deepEqual(missing("They agreed on chairs.", line("Ann", "We agreed on 2,000 chairs.")), [
      "2,000 chairs",
    ]);
    assert.deepEqual(missing("They agreed on 4 December.", line("Ann", "We decided on 2026-11-03.")), [
      "2026-11-03",
    ]);
  });
});

test("a summary has four of the facts, and half of the others", () => {
  const most = (all: number): number => {
    const counts = Array.from({ length: all + 1 }, (_, count) => count);
    return counts.filter((count) => isTolerable(count, all)).length - 1;
  };
  assert.deepEqual([0, 1, 4, 5, 6, 8, 12].map(most), [0, 0, 0, 0, 1, 2, 4]);
});
