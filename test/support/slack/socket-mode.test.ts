import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";

import { type SocketModeReceiver, webApi } from "@slack/bolt";

import { type BoltApp, createSocketApp, type HeardEvent } from "./bolt-app.ts";
import { type SlackServer, startSlackServer } from "./server.ts";

/** The ts of the messages that an app received, with repetitions. */
function heardTs(bolt: { readonly heard: readonly HeardEvent[] }): string[] {
  return bolt.heard.map(({ event }) => ("ts" in event && typeof event.ts === "string" ? event.ts : ""));
}

/** Resolves at the next hello. */
async function nextConnected({ receiver }: BoltApp<SocketModeReceiver>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  receiver.client.once("connected", () => resolve());
  await promise;
}

async function heardCount(slack: SlackServer, bolt: BoltApp<unknown>, count: number): Promise<void> {
  await slack.journal.until(`${count} events heard`, () => bolt.heard.length >= count);
}

test("the app starts with a single-use address, gets a hello and asks who it is", async () => {
  await using slack = await startSlackServer();
  await using bolt = createSocketApp(slack);
  await bolt.app.start();
  const who = await bolt.app.client.auth.test();
  assert.equal(who.user_id, slack.world.bot.id);
  assert(who.response_metadata?.scopes?.includes("chat:write"));
  assert.equal(slack.journal.calls("apps.connections.open").length, 1);
  assert.equal(slack.sockets.openSockets, 1);
  const appClient = new webApi.WebClient(slack.appToken, { slackApiUrl: slack.apiUrl });
  const opened = await appClient.apps.connections.open({});
  const first = new WebSocket(opened.url ?? "");
  await once(first, "open");
  first.close();
  await once(new WebSocket(opened.url ?? ""), "error");
});

test("a message comes in and the reply is seen, with its echo", async () => {
  await using slack = await startSlackServer();
  const ada = slack.world.addUser("ada");
  const channel = slack.world.addChannel({ name: "general", members: [ada] });
  await using bolt = createSocketApp(slack);
  bolt.app.message("hello", async ({ message, say }) => {
    if (!("bot_id" in message)) await say({ text: "hello &amp; welcome", thread_ts: message.ts });
  });
  await bolt.app.start();
  const ts = slack.world.say(ada, channel, "hello");
  await heardCount(slack, bolt, 2);
  await slack.deliveries.idle();
  const [question, answer] = slack.messages(channel, ts);
  assert.deepEqual([question?.text, answer?.text], ["hello", "hello &amp; welcome"]);
  const echo = bolt.heard[1]?.event;
  assert(echo?.type === "message" && "bot_id" in echo);
  assert.equal(echo.bot_id, slack.world.bot.botId);
  assert(slack.journal.acks.every(({ accepted }) => accepted));
  assert.equal(slack.journal.acks.length, 2);
});

test("a mention comes as message and as app_mention, with the same ts under two event ids", async () => {
  await using slack = await startSlackServer();
  const ada = slack.world.addUser("ada");
  const channel = slack.world.addChannel({ name: "general", members: [ada] });
  await using bolt = createSocketApp(slack);
  await bolt.app.start();
  const ts = slack.world.say(ada, channel, `<@${slack.world.bot.id}> are you there?`);
  await heardCount(slack, bolt, 2);
  assert.deepEqual(
    bolt.heard.map(({ event }) => event.type),
    ["message", "app_mention"],
  );
  assert.deepEqual(heardTs(bolt), [ts, ts]);
  assert.notEqual(bolt.heard[0]?.eventId, bolt.heard[1]?.eventId);
});

test("what is not acknowledged comes again with its number and the same event id, a few times", async () => {
  await using slack = await startSlackServer({ ackTimeoutMs: 50, retryDelaysMs: [0, 20] });
  const ada = slack.world.addUser("ada");
  const channel = slack.world.addChannel({ name: "general", members: [ada] });
  await using bolt = createSocketApp(slack);
  await bolt.app.start();
  const { client } = bolt.receiver;
  const seen: { number: unknown; reason: unknown; body: { event_id: string } }[] = [];
  client.removeAllListeners("slack_event");
  client.on("slack_event", ({ retry_num: number, retry_reason: reason, body }) => {
    seen.push({ number, reason, body });
  });
  slack.world.say(ada, channel, "hello");
  await slack.deliveries.idle();
  assert.deepEqual(
    seen.map(({ number, reason }) => [number, reason]),
    [
      [0, ""],
      [1, "timeout"],
      [2, "timeout"],
    ],
  );
  assert.equal(new Set(seen.map(({ body }) => body.event_id)).size, 1);
  const envelopes = slack.journal.envelopes("events_api");
  assert.equal(new Set(envelopes.map(({ envelopeId }) => envelopeId)).size, 3);
  assert.equal(slack.journal.givenUp.length, 1);
});

test("an app can acknowledge only after its work is done, and not at all when that fails", async () => {
  await using slack = await startSlackServer({ ackTimeoutMs: 300, retryDelaysMs: [0] });
  const ada = slack.world.addUser("ada");
  const channel = slack.world.addChannel({ name: "general", members: [ada] });
  await using bolt = createSocketApp(slack);
  const acksAtWork: number[] = [];
  bolt.app.message(/./, async () => {
    acksAtWork.push(slack.journal.acks.length);
    if (acksAtWork.length === 1) throw new Error("the store is away");
  });
  const { client } = bolt.receiver;
  client.removeAllListeners("slack_event");
  client.on("slack_event", ({ body, ack, retry_num: retryNum }) => {
    bolt.app.processEvent({ body, ack: async () => undefined, retryNum }).then(ack, () => undefined);
  });
  await bolt.app.start();
  slack.world.say(ada, channel, "hello");
  await slack.deliveries.idle();
  assert.deepEqual(acksAtWork, [0, 0]);
  assert.equal(slack.journal.acks.length, 1);
  assert.equal(slack.journal.givenUp.length, 0);
});

for (const reason of ["warning", "refresh_requested"] as const) {
  test(`a disconnect frame (${reason}) makes the app reconnect; what was said meanwhile is retried and in the history`, async () => {
    await using slack = await startSlackServer({ retryDelaysMs: [0, 600, 600, 600, 600] });
    const ada = slack.world.addUser("ada");
    const channel = slack.world.addChannel({ name: "general", members: [ada] });
    await using bolt = createSocketApp(slack);
    await bolt.app.start();
    slack.sockets.disconnect(reason);
    await slack.journal.until("the socket closed", () => slack.sockets.openSockets === 0);
    const ts = slack.world.say(ada, channel, "is anybody there?");
    await slack.journal.until("the reconnect", () => slack.sockets.openSockets === 1);
    const history = await bolt.app.client.conversations.history({ channel: channel.id, oldest: "0" });
    assert.deepEqual(
      history.messages?.map((message) => message.ts),
      [ts],
    );
    await heardCount(slack, bolt, 1);
    assert((bolt.heard[0]?.retryNum ?? 0) >= 2);
    assert(slack.journal.sockets.filter(({ state }) => state === "open").length >= 2);
  });
}

test("a cut socket is noticed at once, a frozen one by its missing pongs; both are replaced", async () => {
  await using slack = await startSlackServer();
  await using bolt = createSocketApp(slack);
  await bolt.app.start();
  const again = nextConnected(bolt);
  slack.sockets.cut();
  await again;
  slack.sockets.freeze();
  const connected = nextConnected(bolt);
  await connected;
  assert((slack.journal.sockets.at(-1)?.socket ?? 0) >= 3);
  assert(bolt.log.some((line) => line.includes("A pong wasn't received")));
});

test("with several sockets, each event goes down one of them", async () => {
  await using slack = await startSlackServer();
  const ada = slack.world.addUser("ada");
  const channel = slack.world.addChannel({ name: "general", members: [ada] });
  await using one = createSocketApp(slack);
  await using two = createSocketApp(slack);
  await one.app.start();
  await two.app.start();
  for (const text of ["a", "b", "c", "d"]) slack.world.say(ada, channel, text);
  await slack.deliveries.idle();
  assert.deepEqual([one.heard.length, two.heard.length], [2, 2]);
});

test("events come doubled, in another order, late or never, as a test asks for", async () => {
  await using slack = await startSlackServer({ limits: { oldestPageFirst: false } });
  const ada = slack.world.addUser("ada");
  const channel = slack.world.addChannel({ name: "general", members: [ada] });
  await using bolt = createSocketApp(slack);
  await bolt.app.start();
  slack.deliveries.duplicateNext();
  const doubled = slack.world.say(ada, channel, "doubled");
  slack.deliveries.dropNext();
  slack.world.say(ada, channel, "dropped");
  await slack.deliveries.idle();
  slack.deliveries.hold();
  const early = slack.world.say(ada, channel, "early");
  const late = slack.world.say(ada, channel, "late");
  slack.deliveries.release("reversed");
  await slack.deliveries.idle();
  slack.deliveries.delayNext(40);
  const slow = slack.world.say(ada, channel, "slow");
  const fast = slack.world.say(ada, channel, "fast");
  await slack.deliveries.idle();
  assert.deepEqual(heardTs(bolt), [doubled, doubled, late, early, fast, slow]);
  assert.equal(slack.messages(channel).length, 6);
});

test("apps.connections.open may answer 429: the client waits as long as it says", async () => {
  await using slack = await startSlackServer();
  slack.faults.next({ method: "apps.connections.open", fault: "rate_limited", retryAfterS: 1 });
  await using bolt = createSocketApp(slack, {
    connectionOptions: { retryConfig: { retries: 1, minTimeout: 0, maxTimeout: 1 } },
  });
  const before = performance.now();
  await bolt.app.start();
  assert(performance.now() - before >= 990);
  assert.deepEqual(
    slack.journal.calls("apps.connections.open").map(({ outcome }) => outcome),
    ["rate_limited", "answered"],
  );
});

test("without automatic reconnects, start() says what is wrong, and a disconnect is an event", async () => {
  await using slack = await startSlackServer();
  await using bolt = createSocketApp(slack, {
    autoReconnect: false,
    connectionOptions: { rejectRateLimitedCalls: true },
  });
  slack.faults.next(
    { method: "apps.connections.open", fault: "error", error: "not_allowed_token_type" },
    { method: "apps.connections.open", fault: "rate_limited", retryAfterS: 30 },
    { method: "apps.connections.open", fault: "status", status: 503 },
    { method: "apps.connections.open", fault: "reset_before" },
  );
  await assert.rejects(bolt.app.start(), { message: /not_allowed_token_type/ });
  await assert.rejects(bolt.app.start(), { code: "slack_webapi_rate_limited_error", retryAfter: 30 });
  await assert.rejects(bolt.app.start(), { code: "slack_webapi_http_error", statusCode: 503 });
  await assert.rejects(bolt.app.start(), { code: "slack_webapi_request_error" });
  await bolt.app.start();
  const { promise, resolve } = Promise.withResolvers<void>();
  bolt.receiver.client.once("disconnected", () => resolve());
  slack.sockets.disconnect("link_disabled");
  await promise;
  slack.faults.next({ method: "apps.connections.open", fault: "error", error: "invalid_auth" });
  await assert.rejects(bolt.app.start(), { message: "An API error occurred: invalid_auth" });
  await bolt.app.start();
  assert.equal(slack.sockets.openSockets, 1);
});
