import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  BLOCK_CACHE,
  BREAKPOINT_CACHE,
  chatPrompt,
  fullPrice,
  PREFIX_CACHE,
  type PromptPart,
  ProviderCache,
  RefusedMarks,
} from "./provider-caches.ts";

const MINUTE = 60_000;

/** A part of about this many tokens. */
function part(name: string, tokens: number, mark: string | null = null, role = "user"): PromptPart {
  return { role, text: name.repeat(Math.ceil((tokens * 4) / name.length)).slice(0, tokens * 4), mark };
}

const SYSTEM = part("system ", 2000, null, "system");

describe("a prefix cache", () => {
  test("finds any common beginning, in steps, from its least size on", () => {
    const cache = new ProviderCache(PREFIX_CACHE);
    assert.equal(cache.use([SYSTEM, part("a", 500)], 0).read, 0);
    const { read, plain, written } = cache.use([SYSTEM, part("b", 500)], MINUTE);
    assert.deepEqual([read, written], [1920, 0]);
    assert.ok(plain > 580 && plain < 590, `what is behind it, and the step's rest: ${plain}`);
    assert.equal(cache.use([part("system ", 900, null, "system")], MINUTE).read, 0);
  });

  test("forgets what nobody has used for its life", () => {
    const cache = new ProviderCache(PREFIX_CACHE);
    cache.use([SYSTEM], 0);
    assert.equal(cache.use([SYSTEM], 25 * 60 * MINUTE).read, 0);
  });
});

describe("a cache of breakpoints", () => {
  const marked = (name: string, tokens = 2000): PromptPart => part(name, tokens, "");

  test("finds nothing but what ended at a mark, and at a mark", () => {
    const cache = new ProviderCache(BREAKPOINT_CACHE);
    const first = cache.use([marked("a"), part("x", 100)], 0);
    assert.deepEqual([first.read, first.written > 1990, first.plain <= 101], [0, true, true]);
    assert.equal(cache.use([part("a", 2000), part("y", 100)], MINUTE).read, 0, "no mark, no hit");
    const second = cache.use([marked("a"), marked("y", 100)], MINUTE);
    assert.deepEqual([second.read, second.written], [first.written, 100]);
    assert.equal(cache.use([marked("a"), marked("z", 100)], MINUTE).written, 100);
  });

  test("writes the latest four marks, and none below its least size", () => {
    const cache = new ProviderCache(BREAKPOINT_CACHE);
    const parts = ["a", "b", "c", "d", "e"].map((name) => marked(name));
    cache.use(parts, 0);
    assert.equal(cache.use([...parts.slice(0, 1), part("x", 10)], 0).read, 0, "the first of five");
    assert.ok(cache.use([...parts.slice(0, 2), part("x", 10)], 0).read > 3900);
    assert.deepEqual(new ProviderCache(BREAKPOINT_CACHE).use([marked("a", 500)], 0).written, 0);
  });

  test("lives from its last use on", () => {
    const cache = new ProviderCache(BREAKPOINT_CACHE);
    for (const now of [0, 29, 58]) cache.use([marked("a")], now * MINUTE);
    assert.ok(cache.use([marked("a")], 87 * MINUTE).read > 0);
    assert.equal(cache.use([marked("a")], 118 * MINUTE).read, 0);
  });

  test("takes no mark on an assistant's text", () => {
    const cache = new ProviderCache(BREAKPOINT_CACHE);
    assert.throws(() => cache.use([part("a", 2000, "", "assistant")], 0), RefusedMarks);
  });
});

describe("a cache of blocks", () => {
  test("looks for what it has up to 20 blocks before a mark", () => {
    for (const [blocks, isFound] of [
      [19, true],
      [20, false],
    ] as const) {
      const cache = new ProviderCache(BLOCK_CACHE);
      cache.use([part("a", 2000, "")], 0);
      const between = Array.from({ length: blocks }, (_, index) => part(`b${index}`, 10));
      const { read } = cache.use([part("a", 2000), ...between, part("c", 10, "")], MINUTE);
      assert.equal(read > 0, isFound, `${blocks} blocks`);
    }
  });

  test("lives five minutes or an hour, at another price, and refuses a fifth mark", () => {
    const cache = new ProviderCache(BLOCK_CACHE);
    assert.equal(fullPrice(cache.use([part("a", 2000, "")], 0)), 1.25 * 2002);
    assert.equal(cache.use([part("a", 2000, "")], 6 * MINUTE).read, 0);
    assert.equal(cache.use([part("b", 2000, "1h")], 0).write, 2);
    assert.ok(cache.use([part("b", 2000, "1h")], 59 * MINUTE).read > 0);
    assert.throws(
      () =>
        cache.use(
          ["a", "b", "c", "d", "e"].map((name) => part(name, 10, "")),
          0,
        ),
      RefusedMarks,
    );
  });
});

test("a split message reads the same as a whole one", () => {
  const content = [
    { type: "text", text: "one " },
    { type: "text", text: "two" },
  ];
  const cache = new ProviderCache({ ...PREFIX_CACHE, least: 0, step: 1 });
  const whole = cache.use(chatPrompt({ messages: [{ role: "user", content: "one two" }] }), 0);
  assert.equal(cache.use(chatPrompt({ messages: [{ role: "user", content }] }), 0).read, whole.plain);
});
