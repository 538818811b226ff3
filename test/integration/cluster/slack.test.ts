// proves: src/platforms/slack/connection/socket-session.ts, src/platforms/slack/connection/http-session.ts, src/platforms/intake/gaps.ts
// Two daemons on one database and one Slack app: each hears a part, one is home of the channels.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { openStore, type OpenStore } from "../../store/open-store.ts";
import { createTestDatabase } from "../../support/database.ts";
import { echo } from "../../support/e2e-model.ts";
import { startListening } from "../../support/listening.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import { until } from "../../support/patience.ts";
import {
  accessTo,
  type SlackServer,
  type SlackServerOptions,
  startSlackServer,
} from "../../support/slack/server.ts";
import { type SlackWeir, type SlackWeirOptions, startSlackWeir } from "../../support/slack/slack-weir.ts";
import { TestCluster, turnsOf } from "../../support/cluster/test-cluster.ts";
import { connectionUrl } from "../../support/weir.ts";
import { botTexts } from "../../platforms/slack/slack-harness.ts";

/** Whatever waits for what does not come fails by then. */
const OPTIONS = { timeout: 300_000 };

interface Scene extends AsyncDisposable {
  readonly slack: SlackServer;
  readonly model: ModelServer;
  readonly cluster: TestCluster;
  readonly beside: OpenStore;
  start(name: string, options?: Partial<SlackWeirOptions>): Promise<SlackWeir>;
}

async function openScene(server: SlackServerOptions = {}): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const model = stack.use(await startModelServer());
  model.respond(echo);
  const slack = stack.use(await startSlackServer({ retryDelaysMs: [0, 200], ...server }));
  const database = stack.use(await createTestDatabase());
  const beside = stack.use(openStore(database.connection));
  const cluster = new TestCluster();
  const daemons = stack.use(new AsyncDisposableStack());
  const kept = stack.move();
  return {
    slack,
    model,
    cluster,
    beside,
    start: async (name, options = {}) =>
      daemons.use(
        await startSlackWeir({
          databaseUrl: connectionUrl(database.connection),
          modelUrl: model.url,
          slack: accessTo(slack),
          cluster: cluster.join(name),
          ...options,
        }),
      ),
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}

/** What people said, as it stands in the log. */
async function said({ daemon }: SlackWeir): Promise<string[]> {
  const [channel] = await daemon.store.channels.newest(1);
  assert.ok(channel !== undefined);
  const { history } = await daemon.store.load(channel.id);
  return history.entries.flatMap((entry) => (entry.kind === "user" ? [entry.text] : []));
}

test(
  "each daemon has a socket; an event that comes to both is one entry, and is answered once, by the home",
  OPTIONS,
  async () => {
    await using scene = await openScene();
    const { slack, model } = scene;
    const [a, b] = [await scene.start("a"), await scene.start("b")];
    await scene.cluster.give("b");
    assert.equal(slack.sockets.openSockets, 2);
    const ann = slack.world.addUser("ann");
    const dm = slack.world.openIm(ann);
    const questions = ["one", "two", "three", "four"];
    for (const [index, question] of questions.entries()) {
      slack.deliveries.duplicateNext(1);
      slack.world.say(ann, dm, question);
      await until("the answer", () => botTexts(slack, dm).length === index + 1);
    }
    await slack.deliveries.idle();
    const sockets = new Set(slack.journal.envelopes("events_api").map(({ via }) => via));
    assert.equal(sockets.size, 2);
    assert.deepEqual(await said(b), questions);
    assert.deepEqual([turnsOf(a), turnsOf(b)], [0, questions.length]);
    assert.equal(model.requests.length, questions.length);
  },
);

test(
  "a daemon for which Slack has no socket left says so, waits, and takes the next that is free",
  OPTIONS,
  async () => {
    await using scene = await openScene({ maxSockets: 1 });
    const { slack } = scene;
    const timing = { fullMs: 50 };
    const a = await scene.start("a", { timing });
    const b = await scene.start("b", { timing });
    await scene.cluster.give("b");
    const state = (): string => JSON.stringify(b.daemon.status().platforms);
    await until("word of it", () => /"waiting".*all are taken/.test(state()));
    const ann = slack.world.addUser("ann");
    const dm = slack.world.openIm(ann);
    slack.world.say(ann, dm, "heard by the other");
    await until("the answer", () => botTexts(slack, dm).length === 1);
    assert.deepEqual([turnsOf(a), turnsOf(b)], [0, 1]);
    await a[Symbol.asyncDispose]();
    slack.world.say(ann, dm, "heard by itself");
    await until("the next answer", () => botTexts(slack, dm).length === 2);
    assert.equal(slack.sockets.openSockets, 1);
  },
);

test("behind a balancer either daemon takes any request, and the same request again", OPTIONS, async () => {
  await using scene = await openScene();
  const { slack, model } = scene;
  const ports: number[] = [];
  const { botToken, signingSecret, apiUrl } = slack;
  const options: Partial<SlackWeirOptions> = {
    slack: {
      botToken,
      apiUrl: apiUrl.replace(/\/$/, ""),
      intake: { mode: "http", signingSecret, host: "127.0.0.1", port: 0 },
    },
    onListening: (port) => void ports.push(port),
  };
  const [a, b] = [await scene.start("a", options), await scene.start("b", options)];
  await scene.cluster.give("b");
  let requests = 0;
  const balancer = createServer((request, response) => {
    const port = ports[requests++ % ports.length] ?? 0;
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => void chunks.push(chunk));
    request.on("end", () => {
      const { host: _, ...headers } = request.headers;
      const sent = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
        typeof value === "string" && !["connection", "content-length"].includes(name) ? [[name, value]] : [],
      );
      fetch(`http://127.0.0.1:${port}${request.url}`, {
        method: "POST",
        headers: Object.fromEntries(sent),
        body: Buffer.concat(chunks),
      }).then(
        async (answer) => response.writeHead(answer.status).end(await answer.text()),
        () => response.writeHead(502).end(),
      );
    });
  });
  await using listening = await startListening(balancer);
  slack.requestUrl.url = `${listening.url}/slack/events`;
  const ann = slack.world.addUser("ann");
  const dm = slack.world.openIm(ann);
  for (const [index, question] of ["one", "two", "three"].entries()) {
    slack.deliveries.duplicateNext(1);
    slack.world.say(ann, dm, question);
    await until("the answer", () => botTexts(slack, dm).length === index + 1);
  }
  await slack.deliveries.idle();
  assert.ok(requests >= 6);
  assert.deepEqual(await said(b), ["one", "two", "three"]);
  assert.deepEqual([turnsOf(a), turnsOf(b)], [0, 3]);
  assert.equal(model.requests.length, 3);
});

/** A direct message of somebody with the bot. */
interface Room {
  readonly user: ReturnType<SlackServer["world"]["addUser"]>;
  readonly dm: ReturnType<SlackServer["world"]["openIm"]>;
}

/** Rooms in which the bot has answered once, and in which something was said since that no event tells of. */
async function missIn(scene: Scene, count: number): Promise<Room[]> {
  const { slack, cluster } = scene;
  await using _ = await scene.start("before");
  await cluster.give("before");
  const rooms = Array.from({ length: count }, (__, index): Room => {
    const user = slack.world.addUser(`ann-${index}`);
    return { user, dm: slack.world.openIm(user) };
  });
  for (const { user, dm } of rooms) slack.world.say(user, dm, "first");
  await until("first answers", () => rooms.every(({ dm }) => botTexts(slack, dm).length === 1));
  slack.deliveries.dropNext(rooms.length);
  for (const { user, dm } of rooms) slack.world.say(user, dm, "missed");
  await slack.deliveries.idle();
  return rooms;
}

/** How often the history of each room was asked for. */
function readsOf({ slack }: Scene, rooms: readonly Room[]): number[] {
  const calls = slack.journal.calls("conversations.history");
  return rooms.map(({ dm }) => calls.filter(({ args }) => args["channel"] === dm.id).length);
}

async function untilAnswered({ slack }: Scene, rooms: readonly Room[], count: number): Promise<void> {
  await until(`${count} answers in each room`, () =>
    rooms.every(({ dm }) => botTexts(slack, dm).length >= count),
  );
}

/** Every room's first reading hangs, for longer than the test; what is said next waits for it a little. */
function hangFirst({ slack }: Scene, rooms: readonly Room[]): Partial<SlackWeirOptions> {
  slack.faults.next({ method: "conversations.history", fault: "hang_before", times: rooms.length });
  return { timing: { readEveryMs: 0, callMs: 80_000, holdMs: 500 } };
}

test(
  "what one daemon is stuck over another reads at once: each for itself, and it is answered once",
  OPTIONS,
  async () => {
    await using scene = await openScene({ retryDelaysMs: [] });
    const { slack } = scene;
    const rooms = await missIn(scene, 3);
    const before = readsOf(scene, rooms);
    const options = hangFirst(scene, rooms);
    const a = await scene.start("a", options);
    const since = (): number[] => readsOf(scene, rooms).map((count, index) => count - (before[index] ?? 0));
    await until("a reader of each room", () => since().every((count) => count === 1));
    const b = await scene.start("b", options);
    await scene.cluster.give("b");
    await untilAnswered(scene, rooms, 2);
    assert.deepEqual(since(), [2, 2, 2]);
    for (const { user, dm } of rooms) slack.world.say(user, dm, "last");
    await untilAnswered(scene, rooms, 3);
    await slack.deliveries.idle();
    for (const { dm } of rooms) assert.equal(botTexts(slack, dm).length, 3);
    assert.deepEqual(new Set(await said(b)), new Set(["first", "missed", "last"]));
    assert.deepEqual([turnsOf(a), turnsOf(b)], [0, 2 * rooms.length]);
  },
);

test(
  "what was on record as missing when a daemon ended is read by the next that connects",
  OPTIONS,
  async () => {
    await using scene = await openScene({ retryDelaysMs: [] });
    const { slack, beside } = scene;
    const rooms = await missIn(scene, 3);
    const onRecord = async (): Promise<number> => {
      const rows = await beside.sql(
        "select from channels where platform = 'slack' and fetched_to is not null",
      );
      return rows.length;
    };
    const options = hangFirst(scene, rooms);
    {
      await using _ = await scene.start("a", options);
      await scene.cluster.give("a");
      for (const { user, dm } of rooms) slack.world.say(user, dm, "next");
      await untilAnswered(scene, rooms, 2);
      assert.equal(await onRecord(), rooms.length);
    }
    assert.equal(await onRecord(), rooms.length);
    await scene.start("b", options);
    await scene.cluster.give("b");
    await until("an answer to what was missed", () =>
      rooms.every(({ dm }) => botTexts(slack, dm).some((text) => text.includes("missed"))),
    );
    await until("nothing on record", async () => (await onRecord()) === 0);
  },
);
