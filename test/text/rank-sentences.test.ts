import assert from "node:assert/strict";
import { describe, test } from "node:test";

import * as fc from "fast-check";

import {
  bestSentences,
  isDecision,
  rankSentences,
  type SpokenLine,
  factsOf,
} from "../../src/text/rank-sentences.ts";
import { type Slices, inSlices } from "../../src/async/cooperative.ts";
import { questionTerms, rankDocuments, splitSentences, terms } from "../../src/text/terms.ts";
import { atOnce } from "../support/at-once.ts";
import { cpuMs } from "../support/cpu-time.ts";
import { anyCharacter } from "../support/any-character.ts";

/** The digest of some lines, made at once. */
function extractiveDigest(lines: readonly SpokenLine[], maxCharacters: number): string {
  return atOnce(atOnce(rankSentences(lines))(maxCharacters));
}

const line = (author: string, text: string, time = "2026-11-21 14:05") => ({ time, author, text });

describe("an extractive digest", () => {
  test("keeps decisions, links, identifiers, numbers and questions, and drops small talk", () => {
    const lines = [
      line("Ann", "hi all"),
      line("Ann", "thanks!"),
      line(
        "Ben",
        "We decided to drop SQLite because it locks. Nice weather today by the way, is it not lovely.",
      ),
      line("Cleo", "Docs: https://example.org/a?b=1#c"),
      line("Ann", "ok"),
      line("Ben", "run `npm ci --omit=dev` in src/main.ts"),
      line("Cleo", "What is the budget, 4,200 EUR?"),
      line("Ann", "会議は来週の水曜日に決まりました。"),
    ];
    const digest = extractiveDigest(lines, 330);
    assert.ok(digest.length <= 330);
    assert.match(digest, /\[2026-11-21 14:05\] Ben: We decided to drop SQLite because it locks\./);
    assert.match(digest, /https:\/\/example\.org\/a\?b=1#c/);
    assert.match(digest, /npm ci --omit=dev/);
    assert.match(digest, /4,200 EUR\?/);
    assert.match(digest, /決まりました/);
    assert.doesNotMatch(digest, /hi all|thanks|ok$/m);
  });

  test("keeps the order in which things were said, and says each once", () => {
    const lines = ["b 2 is it", "a 1 is it", "b 2 is it", "c 3 is it"].map((text) => line("Ann", text));
    const digest = extractiveDigest(lines, 1000);
    assert.deepEqual(
      digest.split("\n").map((row) => row.slice(-9)),
      ["b 2 is it", "a 1 is it", "c 3 is it"],
    );
  });

  test("is never longer than asked, never empty where something was said, and quotes only", () => {
    const lines = fc.array(
      fc.record({
        time: fc.constant("2026-01-01 00:00"),
        author: fc.constant("A"),
        text: fc.string({ unit: anyCharacter }),
      }),
    );
    fc.assert(
      fc.property(lines, fc.integer({ min: 0, max: 2000 }), (said, limit) => {
        const digest = extractiveDigest(said, limit);
        assert.ok(digest.length <= limit);
        const hasWords = said.some(({ text }) => splitSentences(text).length > 0);
        if (limit >= 2) assert.equal(digest !== "", hasWords);
      }),
    );
  });

  test("of ten thousand lines takes about a second of a slow processor", () => {
    const many = Array.from({ length: 10_000 }, (_, index) =>
      line("Ann", `message ${index} about topic ${index % 97}`),
    );
    const ms = cpuMs(() => assert.ok(extractiveDigest(many, 4000).length > 3000));
    assert.ok(ms < 1500, `${ms} ms`);
  });
});

test("an extractive digest tells of what was talked about, and not of who asks or proposes most", () => {
  const topics = ["My sister moved to Lisbon.", "The cat has kidney trouble.", "Grandpa repairs old clocks."];
  const chatter = [
    "Let's see?",
    "Shall we?",
    "Must we?",
    "Really, let's go?",
    "So what, because?",
    "Let's do it?",
  ];
  const lines = Array.from({ length: 60 }, (_, index) =>
    line("Ann", (index % 20 === 7 ? topics[(index - 7) / 20] : chatter[index % chatter.length]) ?? ""),
  );
  const digest = extractiveDigest(lines, 190);
  for (const topic of topics) assert.ok(digest.includes(topic), digest);
});

describe("a long digest", () => {
  test("is made in slices, also of one long line, and the same as at once", () => {
    const long = Array.from({ length: 4000 }, (_, index) => `Point ${index} of topic_${index % 97}.`);
    for (const lines of [long.map((text) => line("Ann", text)), [line("Ann", long.join(" "))]]) {
      let slices = 0;
      const last = <Result>(work: Slices<Result>): Result => {
        for (;;) {
          slices++;
          const step = work.next();
          if (step.done === true) return step.value;
        }
      };
      const digest = last(last(rankSentences(lines))(20_000));
      assert.equal(digest, extractiveDigest(lines, 20_000));
      // Two looks of about a hundred thousand characters each, four thousand in a slice.
      assert.ok(slices > 40, `${slices} slices`);
    }
  });

  test("lets everything else go first between two slices", async () => {
    const lines = Array.from({ length: 2000 }, (_, index) => line("Ann", `Point ${index} of the agenda.`));
    let others = 0;
    const chatter = setInterval(() => others++, 0);
    await inSlices(rankSentences(lines));
    clearInterval(chatter);
    assert.ok(others > 5, `${others} others`);
  });
});

describe("a sentence without an end", () => {
  test("is quoted in parts, each beginning with a word", () => {
    const words = Array.from({ length: 800 }, (_, index) => `word${index}`);
    const digest = extractiveDigest([line("Ann", `${words.join(" ")} 🎈`)], 10_000);
    assert.equal(digest, `[2026-11-21 14:05] Ann: ${words.join(" ")} 🎈`);
    const short = extractiveDigest([line("Ann", words.join(" "))], 3000);
    assert.match(short, /^\[2026-11-21 14:05\] Ann: word\d+ .* word\d+$/);
    assert.ok(short.length > 1500);
    const unbroken = `${"あ".repeat(1999)}${"🎈".repeat(2000)}`;
    assert.ok(extractiveDigest([line("Ann", unbroken)], 10_000).isWellFormed());
  });
});

describe("sentences", () => {
  test("end at a space, a line break or a full-width mark, and never inside a link", () => {
    assert.deepEqual(splitSentences("See https://x.org/a?b=1. It is v1.2! Ok\nnext"), [
      "See https://x.org/a?b=1.",
      "It is v1.2!",
      "Ok",
      "next",
    ]);
    assert.deepEqual(splitSentences("雨です。傘は？"), ["雨です。", "傘は？"]);
    assert.deepEqual(splitSentences("one\rtwo\u2028three\u2029four\u0085five\r\n"), [
      "one",
      "two",
      "three",
      "four",
      "five",
    ]);
    assert.deepEqual(splitSentences(" \n "), []);
  });
});

describe("facts", () => {
  const found = (sentence: string) => factsOf(sentence).map(({ text }) => text);

  test("are links, code, identifiers, paths, numbers and names, as they stand in the sentence", () => {
    assert.deepEqual(
      found("See `a b` or `npm` in ~/src/main.ts and lib/x.ts, fooBar, foo_bar: #12, 4,200 for Ann"),
      ["`npm`", "~/src/main.ts", "lib/x.ts", "fooBar", "foo_bar", "#12", "4,200", "Ann"],
    );
    assert.deepEqual(found("変数fooBarとé_xとaé_b"), ["fooBarとé_xとaé_b"]);
    assert.deepEqual(found("--x..a/b -v a.b"), ["x..a/b"]);
  });

  test("are keys of tickets, versions and hashes", () => {
    assert.deepEqual(
      found(
        "see WEIR-412 and AB-1x, v1.4.2-beta.1, 10.0.3 or 1.2.3.4, commit 9f86d081 of deadbeef and 1234567",
      ),
      ["WEIR-412", "v1.4.2-beta.1", "10.0.3", "1.2.3.4", "9f86d081", "1234567"],
    );
  });

  test("that are part of a longer one are none of their own", () => {
    assert.deepEqual(found("https://x.org/a_b/12 and 3"), ["https://x.org/a_b/12", "3"]);
    assert.deepEqual(found("v1.2 of #7"), ["#7"]);
  });
});

test("the best sentences of an extract are those that it has, the best first", () => {
  const lines = [
    line("Ann", "Nice weather today. The kettle is on again."),
    line("Ben", "We decided on https://example.org/plan for 340 € in WEIR-412."),
    line("Ann", "The gate needs paint."),
  ];
  const best = atOnce(bestSentences(lines, 100));
  assert.deepEqual(best[0], { line: 1, text: lines[1]?.text });
  const digest = extractiveDigest(lines, 100);
  for (const { text } of best) assert.ok(digest.includes(text), text);
  assert.deepEqual([isDecision(lines[1]?.text ?? ""), isDecision("The gate needs paint.")], [true, false]);
});

describe("terms", () => {
  test("are words without endings, and pairs of characters where there are no spaces", () => {
    assert.deepEqual(terms("The servers are DEPLOYED"), ["server", "deploy"]);
    assert.deepEqual(terms("E1042 in foo_bar"), ["e1042", "foo_bar"]);
    assert.deepEqual(terms("会議室です"), ["会議", "議室", "室で", "です"]);
    assert.deepEqual(questionTerms("会議室はどこ？"), ["会議", "議室"]);
    assert.deepEqual(terms("どこ"), ["どこ"]);
    assert.deepEqual(terms(""), []);
    // A single letter tells nothing, and one beyond ASCII takes the text the long way.
    fc.assert(
      fc.property(fc.string({ unit: "binary-ascii", maxLength: 60 }), (text) => {
        assert.deepEqual(terms(`${text} ß`), terms(text));
      }),
    );
  });

  test("rank documents by the rare ones that they share", () => {
    const documents = ["the cat sat", "the deployment of the cat", "nothing here"];
    assert.equal(rankDocuments("cat deployment", documents)[0]?.index, 1);
    assert.deepEqual(rankDocuments("zebra", documents), []);
    assert.deepEqual(rankDocuments("cat", []), []);
  });
});

test("halves of surrogate pairs in a row end, too", () => {
  const text = "\ud800".repeat(1000);
  assert.ok(extractiveDigest([{ time: "", author: "", text }], 500).length <= 500);
});
