// proves: src/llm/http/reasons.ts, src/turn/outcome.ts, src/admin/explain-failure.ts, src/llm/chat/thinking-filter.ts
// What people read in the channel, and the operator in /why, the status and the log, by the reason that a model's server gives.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { describeOutage } from "../../../src/admin/reports/daemon-status.ts";
import { command } from "../../support/commands.ts";
import { createTestDatabase } from "../../support/database.ts";
import { status, text } from "../../support/model-behaviours.ts";
import { type Behaviour, startModelServer } from "../../support/model-server.ts";
import { OWNED, OWNER } from "../../support/owners.ts";
import { startWeir, type TestWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());

const SECRET = "zxq-a-sentence-of-the-provider";
const CONFIG = `
${OWNED}
[[agents]]
id = "main"
name = "Weir"
model = "test-model"
time_zone = "UTC"
`;

interface Settled {
  readonly shown: string;
  readonly requests: number;
  readonly why: string;
  readonly lines: readonly string[];
}

let rooms = 0;

/** One question to a server that answers all the same, and what everybody reads of it. */
async function askOnce(
  behaviour: Behaviour,
  use: (weir: TestWeir) => void = () => undefined,
): Promise<Settled> {
  await using server = await startModelServer();
  const lines: string[] = [];
  const room = `reason-${++rooms}`;
  await using weir = await startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: CONFIG,
    onLog: (line) => lines.push(line),
  });
  server.respond(() => behaviour);
  await weir.say("hello", { room });
  await weir.event("reply_delivered", ({ channel }) => channel === `test:${room}`);
  const why = await command(weir, room, "why", OWNER, "test");
  use(weir);
  return { shown: weir.platform.texts(room).join("\n"), requests: server.requests.length, why, lines };
}

const refuses = (code: number, fields: object): Behaviour =>
  status(code, { error: { message: SECRET.repeat(20), ...fields } });

test("a spent quota: one request, a plain sentence, and the operator reads what is spent and where to look", async () => {
  let outage: string | null = "";
  const quota = { type: "insufficient_quota", code: "insufficient_quota", param: null };
  const { shown, requests, why, lines } = await askOnce(refuses(429, quota), (weir) => {
    const call = weir.events.findLast(({ type }) => type === "model_call");
    assert.ok(call?.type === "model_call");
    const failing = { calls: 3, outcome: call.reason ?? call.outcome };
    outage = describeOutage({ model: call.model, outcome: call.outcome, at: new Date(), failing });
  });
  assert.equal(requests, 1);
  assert.match(shown, /used up\. Please tell whoever runs me/);
  assert.match(
    why,
    /the account's quota is spent \(test-model, HTTP 429, insufficient_quota\)\. Look at the billing page/,
  );
  assert.equal(outage, "the last 3 calls for answers failed (the account's quota is spent)");
  const line = lines.find((one) => one.includes("turn_settled")) ?? "";
  assert.ok(line.includes(SECRET), "the log has the provider's words");
  assert.ok(line.length < 800, "cut");
  assert.ok(!`${shown}${why}`.includes(SECRET), "and nobody else");
});

test("moderation: a plain sentence to the person, at once", async () => {
  const { shown, requests, why } = await askOnce(refuses(400, { code: "content_filter", param: "prompt" }));
  assert.deepEqual(
    [shown.trim(), requests],
    ["Sorry, the service that writes my answers declines this. Please try it in other words.", 1],
  );
  assert.match(why, /declines what was said \(test-model, HTTP 400, content_filter, field prompt\)/);
});

test("a model that its provider does not offer any more: the operator reads which", async () => {
  const { shown, why } = await askOnce(refuses(400, { code: "model_decommissioned" }));
  assert.match(shown, /not set up correctly/);
  assert.match(
    why,
    /does not offer the model any more \(test-model, HTTP 400, model_decommissioned\)\. Name another/,
  );
});

test("a model without tools answers without them, and the log says so once", async () => {
  await using server = await startModelServer();
  const lines: string[] = [];
  await using weir = await startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: CONFIG,
    onLog: (line) => lines.push(line),
  });
  const refusal = {
    error: { code: 500, message: "tools param requires --jinja flag", type: "server_error" },
  };
  server.respond(({ tools = [] }) => (tools.length > 0 ? status(500, refusal) : text("hello")));
  for (const id of ["one", "two"]) {
    await weir.say("hello?", { room: "toolless", id });
    const { outcome } = await weir.event("turn_settled", ({ inReplyTo }) => inReplyTo.includes(id));
    assert.equal(outcome, "answered");
  }
  assert.deepEqual(
    server.requests.map(({ body }) => (body.tools ?? []).length > 0),
    [true, false, false],
  );
  const told = lines.filter((line) => line.includes("field_refused"));
  assert.equal(told.length, 1, told.join(""));
  assert.match(told[0] ?? "", /"model":"test-model","field":"tools"/);
});

test("thoughts that end with a mark alone are in no answer and in no row", async () => {
  const { shown } = await askOnce(text(["I should gr", "eet zxqthought.</th", "ink>\n\nHello"]));
  assert.equal(shown, "Hello");
});
