// proves: src/store/models/learned-models.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { llm } from "../../support/llm-config.ts";
import { ask } from "../../support/model-calls.ts";
import { status, text } from "../../support/model-behaviours.ts";
import { startModelServer } from "../../support/model-server.ts";
import { until } from "../../support/patience.ts";
import { lessonKey } from "../../../src/llm/catalog/kept-lessons.ts";
import { openModels } from "../../../src/llm/model-provider.ts";
import { createTestDatabase } from "../../support/database.ts";
import { openStore } from "../open-store.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const opened = openStore(database.connection);
after(async () => opened[Symbol.asyncDispose]());
const { refusedFields: refusals } = opened.store;

test("what a model has refused is known after a restart, at its server alone", async () => {
  await using server = await startModelServer();
  await using other = await startModelServer();
  const once = async (baseUrl: string, learned: number): Promise<void> => {
    await using models = await openModels(llm({ baseUrl }), { refusals });
    await models.recallLearned();
    await ask(models.model, { model: "small", temperature: 0.5 });
    // A run's end waits for it for two seconds only.
    const isKept = async (): Promise<boolean> => (await refusals.load(lessonKey(baseUrl))).length === learned;
    await until("what it has learned in the database", isKept);
  };
  server.reply(status(400, { error: { message: "no", param: "temperature", code: "unsupported_value" } }));
  server.respond(() => text("ok"));
  other.respond(() => text("ok"));
  await once(server.url, 1);
  await once(server.url, 1);
  await once(other.url, 0);
  assert.deepEqual(
    server.requests.map(({ body }) => body.temperature),
    [0.5, undefined, undefined],
  );
  assert.deepEqual(
    other.requests.map(({ body }) => body.temperature),
    [0.5],
  );
});
