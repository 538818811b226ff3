import assert from "node:assert/strict";
import { after, test } from "node:test";
import { describeKnown, forgetModel, knownOf } from "../../src/cli/models.ts";
import { lessonPlaces } from "../../src/llm/model-provider.ts";
import { createTestDatabase } from "../support/database.ts";
import { llm } from "../support/llm-config.ts";
import { openStore } from "../store/open-store.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const opened = openStore(database.connection);
after(async () => opened[Symbol.asyncDispose]());
const { store } = opened;

test("what was learned of a model is shown under its full name, and can be forgotten", async () => {
  const fast = {
    name: "fast",
    baseUrl: "http://h:9000/v1/",
    apiKey: null,
    api: "auto" as const,
    headers: {},
  };
  const places = lessonPlaces(llm({ baseUrl: "http://h/v1", servers: [fast] }));
  const [own, other] = places;
  assert.ok(own !== undefined && other !== undefined);
  const refused = { field: "temperature", value: "", status: 400, code: "unsupported_value" };
  await store.refusedFields.keep(other.key, "small", refused);
  await store.refusedFields.keep(other.key, "small", { ...refused, field: "api", value: "chat", code: "" });
  const at = new Date("2026-11-20T10:00:00Z");
  const until = new Date("2026-12-20T10:00:00Z");
  const window = { tokens: 8192, source: "told" as const, until, configured: 0, at };
  await store.learnedModels.keepWindow(other.key, "small", window);
  await store.learnedModels.keepFactor(other.key, "small", 1.25);
  await store.learnedModels.keepFactor(own.key, "small", 0.9);
  const known = await knownOf(store, places);
  assert.deepEqual(
    known.map(({ name }) => name),
    ["fast/small", "small"],
  );
  assert.deepEqual(describeKnown(known[0] ?? assert.fail()).split("\n"), [
    "fast/small",
    "  window 8,192 tokens (told), until 2026-12-20",
    "  1.25 real tokens for each estimated one",
    "  without temperature (refused: 400 unsupported_value)",
    "  another API than chat (refused: 400)",
  ]);
  await assert.rejects(forgetModel(store, known, "fast/smal"), /Did you mean fast\/small\?/);
  await forgetModel(store, known, "fast/small");
  assert.deepEqual(
    (await knownOf(store, places)).map(({ name }) => name),
    ["small"],
  );
});
