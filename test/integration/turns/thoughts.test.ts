// proves: src/turn/turn.ts, src/llm/wire.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestDatabase } from "../../support/database.ts";
import { events, startWireServer } from "../../support/wire-server.ts";
import { startWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());

const REASONING = { id: "rs_1", type: "reasoning", summary: [], encrypted_content: "gAAAA-secret" };
const end = { type: "response.completed", response: { object: "response", status: "completed", output: [] } };
const callOf = (id: string, json: string) => ({
  type: "response.output_item.done",
  output_index: 1,
  item: { type: "function_call", call_id: id, name: "search_history", arguments: json },
});
const thought = { type: "response.output_item.done", output_index: 0, item: REASONING };

function config(origin: string): string {
  return `[llm.servers.r]\nbase_url = "${origin}/v1"\napi = "responses"\n[[agents]]\nid = "main"\nmodel = "r/thinker"\n`;
}

const inputs = (request: { readonly body: Readonly<Record<string, unknown>> } | undefined): string =>
  JSON.stringify(request?.body["input"]);

test("what a model has thought goes back with its calls within the turn, and no further", async () => {
  await using server = await startWireServer({
    "/v1/responses": (_, index) =>
      index === 0
        ? events(thought, callOf("call_a", '{"query":"tea"}'), end)
        : events({ type: "response.output_text.delta", output_index: 0, delta: "done" }, end),
  });
  await using weir = await startWeir({
    connection: database.connection,
    modelUrl: "",
    config: config(server.origin),
  });
  await weir.say("what of tea?", { room: "thoughts" });
  const { outcome } = await weir.event("turn_settled");
  assert.equal(outcome, "answered");
  await weir.say("and now?", { room: "thoughts" });
  await weir.event(
    "turn_settled",
    ({ turn }) => turn !== weir.events.find((one) => one.type === "turn_settled")?.turn,
  );
  const [, second, third] = server.requests.filter(({ path }) => path === "/v1/responses");
  assert.match(inputs(second), /gAAAA-secret.*call_a/);
  assert.doesNotMatch(inputs(third), /gAAAA/);
  assert.match(inputs(third), /call_a/);
});
