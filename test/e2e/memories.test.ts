import assert from "node:assert/strict";
import { test } from "node:test";

import { rememberIn } from "../store/remember.ts";
import { openHomeWithStore } from "../support/home-with-store.ts";

const { open, home } = await openHomeWithStore();

test("weir memories shows what is remembered with its sources, of one channel or of all, as text or JSON", async () => {
  const empty = await home.run("memories");
  assert.deepEqual([empty.code, empty.out], [0, ["Nothing is remembered yet."]], empty.stderr);
  const at = new Date("2026-11-21T09:00:00Z");
  for (const [name, drink] of [
    ["here", "tea"],
    ["there", "water"],
  ] as const) {
    const { id } = await open.channel(name);
    const seq = await open.say(id, `I drink ${drink}\u001b[2J`, { at });
    await rememberIn(open, id, {
      type: "preference",
      statement: `Ann drinks ${drink}.`,
      at,
      sources: [{ seq, quote: `drink ${drink}\u001b` }],
    });
  }
  const one = await home.run("memories", "--channel", "test:here");
  assert.equal(one.code, 0, one.stderr);
  assert.deepEqual(one.out, [
    "#1      preference about Ann · channel test:here, agent main",
    "        Ann drinks tea.",
    "        Ann, 2026-11-21 09:00, 1 proof, importance 0.50",
    '             1  2026-11-21 09:00  Ann: "drink tea␛"',
  ]);
  const all = await home.run("memories", "--json");
  const memories = all.out.map((line): unknown => JSON.parse(line));
  assert.equal(memories.length, 2);
  const sources = [{ seq: 1, quote: "drink tea\u001b", author: "Ann", at: at.toISOString() }];
  assert.deepEqual(memories[1], {
    id: 1,
    type: "preference",
    scope: "channel",
    subject: "Ann",
    assertedBy: "Ann",
    statement: "Ann drinks tea.",
    importance: 0.5,
    at: at.toISOString(),
    proofs: 1,
    agent: "main",
    channel: "test:here",
    sources,
  });
  const unknown = await home.run("memories", "--channel", "test:nowhere");
  assert.equal(unknown.code, 1);
  assert.match(
    unknown.stderr,
    /There is no channel test:nowhere\. The newest channels are: test:there, test:here\./,
  );
});

test("weir memories --rejected tells how many were refused, by channel and reason, and no text", async () => {
  const { id } = await open.channel("refusing");
  assert.deepEqual((await home.run("memories", "--rejected")).out, ["No memory was refused yet."]);
  await open.store.memories.countRejected(id, ["secret", "quote", "secret"]);
  const { code, out, stderr } = await home.run("memories", "--rejected", "--channel", "test:refusing");
  assert.equal(code, 0, stderr);
  assert.equal(out.length, 2);
  assert.match(out[0] ?? "", /^test:refusing  quote  1 time, last \d{4}-\d\d-\d\d \d\d:\d\d UTC$/);
  assert.match(out[1] ?? "", /^test:refusing  secret  2 times, last /);
  const json = (await home.run("memories", "--rejected", "--json")).out.map((line): unknown =>
    JSON.parse(line),
  );
  assert.deepEqual(
    json.map((row) => ({ ...Object(row), lastAt: "" })),
    [
      { channel: "test:refusing", reason: "quote", count: 1, lastAt: "" },
      { channel: "test:refusing", reason: "secret", count: 2, lastAt: "" },
    ],
  );
});

test("weir log says where the log ends instead of nothing, and what cannot be asked for is refused", async () => {
  const { id } = await open.channel("short");
  await open.say(id, "the only one");
  const cases: readonly [readonly string[], RegExp][] = [
    [["log", "test:short", "--from", "500"], /^The log of test:short ends with 1\.$/m],
    [["log", "test:short", "--from", "3", "--to", "2"], /^--from 3 comes behind --to 2\.$/m],
    [["compactions", "test:short", "--limit", "0"], /^error: .*Expected 1 or more\./m],
  ];
  for (const [args, expected] of cases) {
    const { code, out, stderr } = await home.run(...args);
    assert.equal(code, 1, args.join(" "));
    assert.deepEqual(out, []);
    assert.match(stderr, expected);
  }
  assert.equal((await home.run("log", "test:short", "--from", "1")).out.length, 1);
});
