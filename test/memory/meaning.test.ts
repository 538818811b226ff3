// proves: src/memory/meaning-worth.ts, src/memory/join-by-place.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { joinByPlace, joinWithLesser } from "../../src/memory/join-by-place.ts";
import { certainOf, distancesOf, halvesOf, shownBeside, worthOf } from "../../src/memory/meaning-worth.ts";
import { signsOf } from "../../src/memory/meaning.ts";
import { wordVectors } from "../support/word-vectors.ts";

test("a vector becomes the signs of its numbers", () => {
  assert.equal(signsOf([0.2, -0.1, 0, 1e-9]), "1001");
});

test("how far apart vectors are is told of each pair, in any number of bits", () => {
  assert.deepEqual(distancesOf(["1111", "0000"]), [1]);
  assert.deepEqual(distancesOf(["1111", "1100", "1111"]), [0.5, 0, 0.5]);
  assert.deepEqual(distancesOf(["1111"]), []);
  const ones = "1".repeat(70);
  assert.deepEqual(distancesOf([ones, `${ones.slice(0, 35)}${"0".repeat(35)}`]), [0.5]);
  assert.equal(certainOf([0.5, 0.5]), 0.5);
  assert.equal(certainOf([0.25, 0.75]), 0);
  assert.equal(certainOf([0.5, 0.5625]), 0.40625);
  assert.equal(certainOf([]), 0);
});

test("what stands high in several lists comes first, and of equals the newer one", () => {
  assert.deepEqual(
    joinByPlace([
      [1, 2, 3],
      [2, 4],
    ]),
    [2, 1, 4, 3],
  );
  assert.deepEqual(joinByPlace([[1], [2]]), [2, 1]);
  assert.deepEqual(joinByPlace([[], []]), []);
});

test("what only the lesser list has comes behind the first places, and what both have rises", () => {
  assert.deepEqual(joinWithLesser([1, 2, 3], [7, 3], 0.2), [3, 1, 2, 7]);
  assert.deepEqual(joinWithLesser([1, 2, 3], [7, 8], 0), [1, 2, 3, 7, 8]);
  assert.deepEqual(joinWithLesser([], [7, 8], 0.2), [7, 8]);
  assert.deepEqual(joinWithLesser([1, 2], [], 0.2), [1, 2]);
});

test("a line has two halves where each says something, in any script", () => {
  assert.deepEqual(halvesOf("one two three four five six seven eight nine"), [
    "one two three four",
    "five six seven eight nine",
  ]);
  assert.equal(halvesOf("too short for that"), null);
  assert.equal(
    halvesOf("Internationalisierungsüberlegungen erfordern https://example.org/very/long?path=1 Geduld"),
    null,
  );
  const japanese = "明日の朝は港の市場で新鮮な魚を買ってから友達の家で昼ごはんを作る予定です";
  const [first = "", second = ""] = halvesOf(japanese) ?? [];
  assert.equal(first + second, japanese);
  assert.ok(Math.abs(first.length - second.length) <= 1);
});

/** Halves of lines about as many topics as there are lines: both halves of a line name its topic. */
const TOPICS = Array.from(
  { length: 50 },
  (_, index) => `topic${"abcdefghij"[index % 10]}${"klmnopqrst"[Math.floor(index / 10)]}`,
);

test("vectors that put what belongs together near each other have weight, and those of chance have none", () => {
  const bitsOf = (texts: readonly string[]): string[] => wordVectors(texts).map(signsOf);
  const first = TOPICS.map((topic) => `${topic} ${topic} morning`);
  const second = TOPICS.map((topic) => `${topic} ${topic} evening`);
  const good = worthOf(bitsOf(first), bitsOf(second));
  assert.equal(good.weight, 0.3);
  assert.ok(good.certain > 0.2 && good.certain < 0.45, String(good.certain));
  // Each half of words of its own.
  const chance = worthOf(
    bitsOf(TOPICS),
    bitsOf(TOPICS.map((topic) => Array.from(topic).toReversed().join(""))),
  );
  assert.equal(chance.weight, 0);
  assert.deepEqual(worthOf(["1"], ["1"]), { weight: 0, certain: 0 });
});

test("where words find nothing, a turn is shown only what is certainly near; who asks for a search sees all", () => {
  const nearest = { all: [1, 2], certain: [1] };
  assert.deepEqual(shownBeside([], nearest, true), [1]);
  assert.deepEqual(shownBeside([7], nearest, true), [1, 2]);
  assert.deepEqual(shownBeside([], nearest, false), [1, 2]);
});
