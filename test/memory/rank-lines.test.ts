import assert from "node:assert/strict";
import { describe, test } from "node:test";

import * as fc from "fast-check";

import { rankLines, type RankingQuery, speakersNamed } from "../../src/memory/rank-lines.ts";
import { columnsOf, type FoundLine } from "../support/found-lines.ts";

const START = Date.UTC(2026, 4, 7, 12);
const NOW = Date.UTC(2026, 10, 1);

/** A line a minute; its author is its first word, in lower case, as in the index. */
function line(seq: number, author: string, words: string, rest: Partial<FoundLine> = {}): FoundLine {
  const all = ` ${author.toLowerCase()} ${words} `;
  const length = all.split(" ").length - 2;
  return { seq, at: START + seq * 60_000, author, asks: false, words: all, length, ...rest };
}

interface RankedLine {
  readonly seq: number;
  readonly score: number;
  readonly coverage: number;
}

function ranking(query: RankingQuery, lines: readonly FoundLine[]): RankedLine[] {
  const { seqs: all, scores, coverage } = rankLines(query, columnsOf(lines));
  return all.map((seq, place) => {
    return { seq, score: scores[place] ?? Number.NaN, coverage: coverage[place] ?? Number.NaN };
  });
}

function rank(question: string, terms: readonly string[], lines: readonly FoundLine[]): RankedLine[] {
  const all = terms.map((lexeme) => ({ lexeme, expected: 1, isCounted: true }));
  return ranking({ question, terms: all, size: 1000, now: NOW }, lines);
}

function seqs(question: string, terms: readonly string[], lines: readonly FoundLine[]): number[] {
  return rank(question, terms, lines).map(({ seq }) => seq);
}

const PAD = "one two three four five six";

describe("lines are ranked", () => {
  test("by what they hold of the question, rare terms weighing more, and by the lines beside them", () => {
    const common = [20, 30, 40, 50].map((seq) => line(seq, "Ann", `boat ${PAD}`));
    const lines = [line(1, "Ann", `kettl ${PAD}`), line(2, "Ben", `shelf ${PAD}`), ...common];
    const ranked = rank("the boat and the kettle", ["boat", "kettl"], lines);
    assert.equal(ranked[0]?.seq, 1);
    assert.ok(
      ranked.some(({ seq }) => seq === 2),
      "it answers the line before it, whatever it says itself",
    );
    assert.deepEqual(seqs("x", ["ladder"], lines), []);
    assert.deepEqual(seqs("x", [], lines), []);
    assert.deepEqual(rank("x", ["boat"], []), []);
  });

  test("by who said it, where the question names people", () => {
    const lines = [line(10, "Ann", `tea ${PAD}`), line(30, "Ben", `tea ${PAD}`)];
    assert.deepEqual(seqs("what tea does Ann like?", ["tea"], lines), [10, 30]);
    assert.deepEqual(seqs("what tea does Ben's sister like?", ["tea"], lines), [30, 10]);
    const three = [
      line(10, "Ann", `tea ${PAD}`),
      line(30, "Cem", `tea ${PAD}`),
      line(50, "Ben", `tea ${PAD}`),
    ];
    assert.equal(seqs("what tea do Ann and Ben like?", ["tea"], three).at(-1), 30);
    assert.deepEqual(speakersNamed("do Ann and Ben like tea?", ["Ann", "Cem", "Ben"]), ["Ann", "Ben"]);
    assert.deepEqual(speakersNamed("what may Ann like?", ["Ann", "May"]), ["Ann"]);
    assert.deepEqual(speakersNamed("what may ann like?", ["Ann", "May"]), ["Ann", "May"]);
    assert.deepEqual(speakersNamed("is it an annex?", ["Ann", "Ben"]), []);
    assert.deepEqual(speakersNamed("鈴木さんは何が好き？", ["鈴木", ""]), ["鈴木"]);
  });

  test("by when it was said, where the question names a date", () => {
    const days = [1, 7, 12, 60].map((day, index) =>
      line(10 * (index + 1), "Ann", `tea ${PAD}`, { at: Date.UTC(2026, 4, day, 12) }),
    );
    const asked = seqs("what of the tea on May 7, 2026?", ["tea"], days);
    assert.deepEqual(new Set(asked.slice(0, 2)), new Set([20, 30]));
  });

  test("by whether they ask: a question is less, and what stands behind it more", () => {
    const lines = [
      line(10, "Ann", `tea ${PAD}`, { asks: true }),
      line(11, "Ben", PAD),
      line(30, "Ann", `tea ${PAD}`),
      line(31, "Ben", PAD),
    ].map((one) => ({ ...one, at: START + one.seq * 7_200_000 }));
    const order = seqs("tea", ["tea"], lines);
    assert.ok(order.indexOf(30) < order.indexOf(10));
    assert.ok(order.indexOf(11) < order.indexOf(31));
  });

  test("higher where they speak of a time and a time is asked for", () => {
    const lines = [line(10, "Ann", `tea yesterday ${PAD}`), line(30, "Ann", `tea seven ${PAD}`)];
    assert.deepEqual(seqs("when was the tea?", ["tea"], lines), [10, 30]);
    assert.deepEqual(seqs("what of the tea?", ["tea"], lines), [30, 10]);
  });

  test("by their words, and not by a name that holds one", () => {
    const lines = [line(10, "tea kettl boat", PAD, { words: ` ${PAD} ` }), line(30, "Ben", `tea ${PAD}`)];
    assert.deepEqual(seqs("x", ["tea", "kettl"], lines), [30]);
  });

  test("with the share of the question that they hold", () => {
    const lines = [line(10, "Ann", `tea kettl ${PAD}`), line(40, "Ann", `tea ${PAD}`)];
    const coverage = new Map(rank("x", ["tea", "kettl"], lines).map((one) => [one.seq, one.coverage]));
    assert.equal(coverage.get(10), 1);
    assert.ok((coverage.get(40) ?? 1) < 0.5);
  });
});

const words = fc.array(fc.constantFrom("tea", "kettl", "boat", "ann", "~寿司", "2026"), { maxLength: 5 });
const anyLines = fc
  .uniqueArray(
    fc.record({
      seq: fc.integer({ min: 1, max: 60 }),
      at: fc.integer({ min: 0, max: 9_000_000 }).map((ms) => START + ms),
      author: fc.constantFrom("Ann", "Ben", "", "鈴木", "constructor"),
      asks: fc.boolean(),
      words: words.map((all) => (all.length === 0 ? "" : ` ${all.join(" ")} `)),
      length: fc.nat({ max: 300 }),
    }),
    { selector: ({ seq }) => seq, maxLength: 40 },
  )
  .map((lines) => lines.toSorted((a, b) => a.seq - b.seq));
const anyTerms = fc.uniqueArray(
  fc.record({
    lexeme: fc.constantFrom("tea", "kettl", "boat", "ann", "~寿司", "nowher"),
    expected: fc.double({ min: 0, max: 1e6, noNaN: true }),
    isCounted: fc.boolean(),
  }),
  { selector: ({ lexeme }) => lexeme },
);
const anyQuery = fc.record({
  question: fc.oneof(
    fc.string(),
    fc.constantFrom("when did Ann say so on 7 May?", "鈴木さんは2026年5月に？"),
  ),
  terms: anyTerms,
  size: fc.nat({ max: 200_000 }),
  now: fc.constant(NOW),
});

test("lines fit a question the better, the more of it one says; its date need not stand there", () => {
  const lines = [line(1, "Ann", `kettl ${PAD}`), line(20, "Ben", `shelf ${PAD}`)];
  const fit = (question: string, ...terms: string[]): number =>
    rankLines(
      {
        question,
        terms: terms.map((lexeme) => ({ lexeme, expected: 1, isCounted: true })),
        size: 1000,
        now: NOW,
      },
      columnsOf(lines),
    ).fit;
  const whole = fit("the kettle?", "kettl");
  assert.ok(whole > 0.285);
  const part = fit("the kettle, the ladder, the rope, the sail?", "kettl", "ladder", "rope", "sail");
  assert.ok(part > 0 && part < whole / 2);
  const dated = fit("the kettle on 7 May 2026?", "kettl", "7", "may", "2026");
  assert.ok(dated > whole, "a line of that day");
  assert.equal(fit("the sail?", "sail"), 0);
});

describe("whatever was found", () => {
  test("each line is ranked once, by falling and finite scores, with a share between nothing and all", () => {
    fc.assert(
      fc.property(anyQuery, anyLines, (query, lines) => {
        const ranked = ranking(query, lines);
        assert.equal(new Set(ranked.map(({ seq }) => seq)).size, ranked.length);
        for (const [index, { seq, score, coverage }] of ranked.entries()) {
          assert.ok(Number.isFinite(score) && score > 0 && score <= (ranked[index - 1]?.score ?? Infinity));
          assert.ok(coverage > 0 && coverage <= 1 + 1e-9, String(coverage));
          assert.ok(lines.some((one) => one.seq === seq));
        }
      }),
    );
  });

  test("what is ranked has a term of the question in it or at most two lines away, and all such lines are", () => {
    fc.assert(
      fc.property(anyQuery, anyLines, (query, lines) => {
        const holds = lines.filter(
          (one) => one.length !== 0 && query.terms.some(({ lexeme }) => one.words.includes(` ${lexeme} `)),
        );
        const ranked = new Set(ranking(query, lines).map(({ seq }) => seq));
        for (const { seq } of holds) assert.ok(ranked.has(seq));
        const near = lines.filter((one) =>
          lines.some(
            (other) =>
              Math.abs(other.seq - one.seq) <= 2 &&
              query.terms.some(({ lexeme }) => other.words.includes(` ${lexeme} `)),
          ),
        );
        for (const seq of ranked) assert.ok(near.some((one) => one.seq === seq));
      }),
    );
  });

  test("a term more in a line never makes it rank lower", () => {
    fc.assert(
      fc.property(anyLines, fc.nat(), (lines, pick) => {
        // Its length stays: a longer line counts a little less.
        const terms = ["tea", "kettl"].map((lexeme) => ({ lexeme, expected: 9, isCounted: false }));
        const query = { question: "x", terms, size: 1000, now: NOW };
        const chosen = lines[pick % Math.max(1, lines.length)];
        if (chosen === undefined || chosen.words.includes(" kettl ")) return;
        const richer = lines.map((one) =>
          one === chosen ? { ...one, words: `${one.words === "" ? " " : one.words}kettl ` } : one,
        );
        const scoreOf = (all: readonly FoundLine[]): number =>
          ranking(query, all).find(({ seq }) => seq === chosen.seq)?.score ?? 0;
        assert.ok(scoreOf(richer) >= scoreOf(lines) - 1e-9);
      }),
    );
  });
});
