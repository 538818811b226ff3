import assert from "node:assert/strict";
import { describe, test } from "node:test";

import * as fc from "fast-check";

import {
  CANDIDATES,
  chooseTerms,
  findPieces,
  orQuery,
  pickQuery,
  saidQuery,
  tellingLiterals,
} from "../../src/memory/terms.ts";
import { cpuMs } from "../support/cpu-time.ts";
import { anyCharacter } from "../support/any-character.ts";

const lexemes = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 6 }), { maxLength: 60 });

describe("the terms of a search", () => {
  test("that pick are the rarest, as many as bring few candidates, and one at least", () => {
    const frequencies = new Map([
      ["the", 0.4],
      ["deploy", 0.02],
      ["friday", 0.01],
    ]);
    const few = chooseTerms(["the", "deploy", "friday", "zeppelin"], frequencies, 10_000);
    assert.deepEqual(few.pick, ["zeppelin"]);
    assert.deepEqual(
      few.rank.map(({ lexeme, expected }) => [lexeme, expected]),
      [
        ["zeppelin", 5],
        ["friday", 100],
        ["deploy", 200],
        ["the", 4000],
      ],
    );
    const small = chooseTerms(["the", "deploy", "friday", "zeppelin"], frequencies, 100);
    assert.deepEqual(small.pick, ["zeppelin", "friday", "deploy", "the"]);
    assert.deepEqual(chooseTerms(["the"], frequencies, 1e9).pick, ["the"]);
    assert.deepEqual(chooseTerms([], frequencies, 100), { pick: [], pairs: [], rank: [] });
  });

  test("are bounded, and those that pick are the first of those that rank", () => {
    const shares = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 60, maxLength: 60 });
    fc.assert(
      fc.property(lexemes, shares, fc.nat({ max: 1e6 }), (words, known, size) => {
        const frequencies = new Map(words.map((word, index) => [word, known[index] ?? 0]));
        const { pick, pairs, rank } = chooseTerms(words, frequencies, size);
        assert.ok(rank.length === Math.min(32, words.length));
        assert.deepEqual(
          pick,
          rank.slice(0, pick.length).map(({ lexeme }) => lexeme),
        );
        assert.ok(pick.length >= Math.min(1, words.length));
        const expected = pick.reduce((sum, word) => sum + (frequencies.get(word) ?? 0) * size, 0);
        assert.ok(pick.length === 1 || expected <= CANDIDATES + 1e-6);
        const together = pairs.reduce(
          (sum, [one, other]) => sum + (frequencies.get(one) ?? 0) * (frequencies.get(other) ?? 0) * size,
          0,
        );
        assert.ok(pairs.length <= 12 && together <= CANDIDATES + 1e-6);
        assert.ok(pairs.flat().every((word) => !pick.includes(word)));
      }),
    );
  });

  test("are quoted, so that none is read as an operator", () => {
    assert.equal(
      orQuery(["a", "o'clock", "back\\slash", "x & !y"]),
      "'a' | 'o''clock' | 'back\\\\slash' | 'x & !y'",
    );
    assert.equal(orQuery([]), "");
    assert.equal(saidQuery(["o'clock", "~寿司", "=tea"]), "'o''clock':A | '~寿司' | '=tea'");
  });
});

test("terms pick in pairs where each alone would bring too much, the rarest pairs first", () => {
  const frequencies = new Map([
    ["ann", 0.1],
    ["dog", 0.05],
    ["walk", 0.03],
    ["the", 0.6],
  ]);
  const { pick, pairs } = chooseTerms(["ann", "the", "dog", "walk", "zeppelin"], frequencies, 4000);
  assert.deepEqual(pick, ["zeppelin"]);
  assert.deepEqual(
    pairs,
    [
      ["walk", "dog"],
      ["walk", "ann"],
      ["dog", "ann"],
    ],
    "in more than a thousand entries no term picks",
  );
  assert.equal(
    pickQuery({ pick, pairs: pairs.slice(0, 2) }),
    "'zeppelin':A | ('walk':A & 'dog':A) | ('walk':A & 'ann':A)",
  );
  assert.equal(pickQuery({ pick: [], pairs: [] }), "");
  const few = chooseTerms(["ann", "dog", "walk"], frequencies, 9000);
  assert.deepEqual(few.pick, ["walk"]);
  assert.deepEqual(few.pairs, [["dog", "ann"]]);
  assert.deepEqual(chooseTerms(["ann", "dog", "walk"], frequencies, 9900).pairs, [["dog", "ann"]]);
  assert.deepEqual(chooseTerms(["ann", "dog", "walk"], frequencies, 10_100).pairs, []);
});

describe("the pieces of a query", () => {
  test("are identifiers, paths and links, letter by letter", () => {
    const { literals, unspaced } = findPieces(
      "why does src/text/split-message.ts fail in splitText with E_LIMIT?",
    );
    assert.deepEqual(literals, ["src/text/split-message.ts", "splitText", "E_LIMIT"]);
    assert.equal(unspaced, "");
  });

  test("are what stands between the marks of a sentence", () => {
    const text =
      "(see ./src/a_token.ts, or fooBar? @some.body: https://example.org/?q=page_one.) Yes... Hello: 100%";
    assert.deepEqual(findPieces(text).literals, [
      "src/a_token.ts",
      "fooBar",
      "@some.body",
      "https://example.org/?q=page_one",
    ]);
  });

  test("are found at once in what has nothing but their marks", () => {
    for (const mark of ["#-", "a-", "-", "aA~", "a.", "x"]) {
      const took = cpuMs(() => findPieces(mark.repeat(2000 / mark.length)));
      assert.ok(took < 500, `${mark}: ${took} ms`);
    }
  });

  test("are none that very many texts would have, too", () => {
    assert.deepEqual(findPieces("to_do or a.b in the_end.md, v1.2.30").literals, []);
    assert.deepEqual(findPieces("see main.ts and a_token").literals, ["main.ts", "a_token"]);
  });

  test("are runs of scripts that are written without spaces", () => {
    assert.deepEqual(findPieces("What about 会議の場所 and データベース?"), {
      literals: [],
      unspaced: "会議の場所 データベース",
    });
  });

  test("are none of a plain question", () => {
    assert.deepEqual(findPieces("Who said that, and when? I don't know."), { literals: [], unspaced: "" });
  });

  test("are few and short, whatever was pasted", () => {
    const query = fc.oneof(
      fc.string({ unit: anyCharacter, maxLength: 2000 }),
      fc
        .array(fc.constantFrom("a/b/c", "x", "-", ".", "camelCase", "会議", "@", " "), { maxLength: 500 })
        .map((all) => all.join("")),
    );
    fc.assert(
      fc.property(query, (text) => {
        const { literals, unspaced } = findPieces(text);
        assert.ok(literals.length <= 4 && new Set(literals).size === literals.length);
        for (const piece of [...literals, unspaced]) assert.ok(piece.length <= 80 && piece.isWellFormed());
      }),
    );
  });
});

describe("identifiers", () => {
  test("are cut where a part of them ends", () => {
    const path = `${"a".repeat(38)}/${"b".repeat(38)}`;
    assert.deepEqual(findPieces(`${path}/cd.ef`).literals, [`${path}/cd`.slice(0, 80)]);
    assert.deepEqual(findPieces(`${path}/cdef`).literals, [`${path}/`]);
    assert.deepEqual(findPieces(`${path}/cd/`).literals, [`${path}/cd`]);
    assert.deepEqual(findPieces(`a-token_${"x".repeat(90)}`).literals, [`a-token_${"x".repeat(72)}`]);
  });

  test("are looked for where one of their parts is not in very many entries", () => {
    const frequencies = new Map([
      ["=https", 0.2],
      ["=example", 0.1],
      ["=org", 0.1],
      ["example", 0.9],
    ]);
    const links = ["https://example.org", "https://example.org/guide", "example.org"];
    assert.deepEqual(tellingLiterals(links, frequencies, 100_000), ["https://example.org/guide"]);
    assert.deepEqual(tellingLiterals(links, frequencies, 5000), links);
    assert.deepEqual(tellingLiterals(links, new Map(), 1e9), links);
    const long = "x".repeat(50);
    const cut = new Map([[`=${"x".repeat(40)}`, 1]]);
    assert.deepEqual(tellingLiterals([`${long}.${long}`, `${long}.org`], cut, 1e9), [`${long}.org`]);
  });
});
