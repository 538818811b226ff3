// proves: src/llm/several-models.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestDatabase } from "../../support/database.ts";
import { text } from "../../support/model-behaviours.ts";
import { startModelServer } from "../../support/model-server.ts";
import { startWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());

test("where the first server is down, a fallback on another answers, and is billed under its full name", async () => {
  await using first = await startModelServer();
  await using second = await startModelServer();
  second.respond(() => text("I stand in"));
  const config = `[llm]\nmax_retries = 0\n[llm.servers.spare]\nbase_url = "${second.url}"\napi_key = "env:SPARE_KEY"\n
[[agents]]\nid = "main"\nmodel = "test-model"\nfallbacks = ["spare/small"]\n`;
  await using weir = await startWeir({
    connection: database.connection,
    modelUrl: first.url,
    config,
    env: { SPARE_KEY: "sk-spare-0123" },
  });
  await first.leave();
  await weir.say("hello");
  const { outcome } = await weir.event("turn_settled");
  assert.equal(outcome, "answered");
  assert.deepEqual(
    [second.requests[0]?.body.model, second.requests[0]?.headers.authorization],
    ["small", "Bearer sk-spare-0123"],
  );
  const call = await weir.event("model_call", (event) => event.outcome === "answered");
  assert.equal(call.model, "spare/small");
});

test("a server that a reload has changed is asked from the next turn on", async () => {
  await using first = await startModelServer();
  await using second = await startModelServer();
  first.respond(() => text("old"));
  second.respond(() => text("new"));
  const config = (url: string): string =>
    `[llm.servers.main]\nbase_url = "${url}"\n[[agents]]\nid = "main"\nmodel = "main/small"\n`;
  await using weir = await startWeir({
    connection: database.connection,
    modelUrl: first.url,
    config: config(first.url),
  });
  await weir.say("one", { room: "reloaded" });
  await weir.event("turn_settled");
  const answer = await weir.reload(config(second.url));
  assert.deepEqual(answer.kind === "reloaded" && answer.live, ["llm.servers"]);
  await weir.say("two", { room: "reloaded" });
  await second.received(1);
  assert.equal(first.requests.length, 1);
});
