import assert from "node:assert/strict";
import { after, test } from "node:test";
import fc from "fast-check";
import { Lexemes, plainWords } from "../../../src/store/search/lexemes.ts";
import { createTestDatabase } from "../../support/database.ts";
import { openStore } from "../open-store.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const weir = openStore(database.connection);
after(async () => weir[Symbol.asyncDispose]());

/** What the index makes of a text. */
async function indexed(text: string): Promise<string[]> {
  const [row] = await weir.sql<{ lexemes: string[] }>(
    "select tsvector_to_array(to_tsvector('english', $1)) || acronyms($1) as lexemes",
    text,
  );
  return row?.lexemes ?? [];
}

/** Lexemes, and how often the server is asked for them; the first `failures` times in vain. */
function watched(failures = 0): { lexemes: Lexemes; asked: () => number } {
  let asked = 0;
  const lexemes = new Lexemes({
    async query(...what) {
      asked++;
      if (asked <= failures) throw new Error("cut");
      return weir.db.query(...what);
    },
  });
  return { lexemes, asked: () => asked };
}

const WORDS = `the Running ran MILL mills I'm don't it's o'clock a not quickly e com
  organisation www http U i is their generously US IT WHO x rivers www's skies dying`.split(/\s+/);
const words = fc.constantFrom(...WORDS);
const letters = fc.stringMatching(/^[A-Za-z]{1,12}$/);
const joined = fc.stringMatching(/^[A-Za-z]{1,6}(?:_[A-Za-z]{1,6}){1,3}$/);
const numbers = fc.oneof(
  fc.stringMatching(/^[0-9]{1,9}$/),
  fc.stringMatching(/^[A-Za-z0-9]{1,8}$/).filter((one) => !/\d[Ee]\d/.test(one)),
  fc.constantFrom("007", "2nd", "5pm", "E10", "0x1F", "v2", "US2", "100"),
);
const marks = fc.stringMatching(/^[-!"'()*+,.:;=?[\]]{1,4}$/).filter((one) => !/(?:^|[^.])\.\.$/.test(one));
const before = fc.constantFrom("", "", "", '"', "'", "(", '("');
const behind = fc.constantFrom("", "", "", ".", ",", "...", "!?", ":", ";", '."', ").", "'", ")", '?")');
const word = fc
  .tuple(before, fc.oneof(words, letters, joined, numbers), behind)
  .map((parts) => parts.join(""));
const token = fc.oneof({ weight: 6, arbitrary: word }, { weight: 1, arbitrary: marks });
const gap = fc.constantFrom(" ", " ", "  ", "\n", "\t");
const plainTexts = fc
  .array(fc.tuple(token, gap), { maxLength: 12 })
  .map((pairs) => pairs.map((pair) => pair.join("")).join(""));

test("lexemes of words that are known are those that the index has", async () => {
  const { lexemes } = watched();
  await fc.assert(
    fc.asyncProperty(plainTexts, async (text) => {
      assert.notEqual(plainWords(text), null, text);
      const expected = await indexed(text);
      // The first look may ask the server, and the next ones know the words.
      for (const same of [text, `${text} `, `  ${text}`]) assert.deepEqual(await lexemes.of(same), expected);
    }),
    { numRuns: 300 },
  );
});

test("the server is asked once for a word, and always where a text is more than its words", async () => {
  const { lexemes, asked } = watched();
  assert.deepEqual(await lexemes.of("The mills were running"), ["mill", "run"]);
  assert.deepEqual(await lexemes.of("Running, the mill's mills!"), ["mill", "run"]);
  assert.equal(asked(), 2, "mill and s were new");
  assert.deepEqual(await lexemes.of("were the mills (running)?"), ["mill", "run"]);
  assert.equal(asked(), 2);
  for (const text of [
    "mills/running",
    "running-mills",
    "mills.com",
    "mills -7",
    "mills 1e5",
    "mühlen",
    "<b>mills</b>",
    "run@mill",
  ]) {
    assert.equal(plainWords(text), null, text);
    assert.deepEqual(await lexemes.of(text), await indexed(text), text);
  }
  assert.equal(asked(), 10);
});

test("an acronym that is a word in small letters is one of its own, unless all is in capitals", async () => {
  const { lexemes } = watched();
  for (const [text, expected] of [
    ["who told us of it?", ["told", "us"]],
    ["Who told the US of IT?", ["told", "us", "=IT", "=US"]],
    ["US", ["us", "=US"]],
    ["WHO CAN DO IT", []],
    ["the US's office, at 9 AM.", ["9", "offic", "us", "=AM", "=US"]],
    ["the MILL", ["mill"]],
  ] as const)
    for (const same of [text, `${text} `]) assert.deepEqual(await lexemes.of(same), expected, text);
});

test("what is asked for at once is asked once, and what failed is asked again", async () => {
  const { lexemes, asked } = watched();
  await Promise.all([lexemes.of("one river"), lexemes.of("one river")]);
  assert.equal(asked(), 1);
  const failing = watched(1);
  await assert.rejects(failing.lexemes.of("two rivers"));
  assert.deepEqual(await failing.lexemes.of("two rivers"), ["river", "two"]);
});
