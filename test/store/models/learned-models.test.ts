import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestDatabase } from "../../support/database.ts";
import { openStore } from "../open-store.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const opened = openStore(database.connection);
after(async () => opened[Symbol.asyncDispose]());
const { learnedModels: learned } = opened.store;

const EARLY = new Date("2026-11-20T10:00:00Z");
const LATE = new Date("2026-11-21T10:00:00Z");
const UNTIL = new Date("2026-11-22T10:00:00Z");
const GUESSED = { source: "guessed", until: UNTIL } as const;

test("what was learned of a model is found again under its server alone", async () => {
  const window = { tokens: 9000, configured: 0, at: EARLY, ...GUESSED };
  await learned.keepWindow("s1", "模型/🦫", window);
  await learned.keepFactor("s1", "模型/🦫", 1.25);
  await learned.keepFactor("s1", "other", 0.8);
  assert.deepEqual(
    (await learned.load("s1")).toSorted((a, b) => a.model.localeCompare(b.model)),
    [
      { model: "other", window: null, factor: 0.8 },
      { model: "模型/🦫", window, factor: 1.25 },
    ],
  );
  assert.deepEqual(await learned.load("s2"), []);
});

test("the newest refusal stands, whichever daemon writes last", async () => {
  await learned.keepWindow("s3", "m", { tokens: 5000, configured: 8000, at: LATE, ...GUESSED });
  await learned.keepWindow("s3", "m", { tokens: 9000, configured: 0, at: EARLY, ...GUESSED });
  await learned.keepFactor("s3", "m", 2);
  const [row] = await learned.load("s3");
  const window = { tokens: 5000, configured: 8000, at: LATE, ...GUESSED };
  assert.deepEqual(row, { model: "m", window, factor: 2 });
});
