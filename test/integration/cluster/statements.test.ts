// proves: src/ownership/channel-homes.ts, src/daemon/channels.ts
// What belonging to a cluster costs a turn in statements: nothing where a daemon is alone, and nothing where it is home.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import pg from "pg";
import { z } from "zod";
import { TestCluster } from "../../support/cluster/test-cluster.ts";
import { createTestDatabase } from "../../support/database.ts";
import { text } from "../../support/model-behaviours.ts";
import { startModelServer } from "../../support/model-server.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import { startWeir, type TestWeirOptions } from "../../support/weir.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const server = await startModelServer();
server.respond(() => text("noted"));
after(async () => server[Symbol.asyncDispose]());

const named = z.object({ name: z.string() });
/** Names of all statements that this process sends, in order. */
const sent: string[] = [];
// oxlint-disable-next-line typescript/unbound-method -- called with its client, and put back as it was
const { query } = pg.Client.prototype;
pg.Client.prototype.query = new Proxy(query, {
  apply(target, client: unknown, args: unknown[]): unknown {
    const { data } = named.safeParse(args[0]);
    if (data !== undefined && data.name !== "") sent.push(data.name);
    return Reflect.apply(target, client, args);
  },
});
after(() => {
  pg.Client.prototype.query = query;
});

/** The statements of five turns in a channel that is in memory, from a message to its settled turn. */
async function statementsOfTurns(
  options: Pick<TestWeirOptions, "cluster">,
  onOpen: () => Promise<void>,
): Promise<Set<string>> {
  const platform = new TestPlatform();
  const { connection } = database;
  await using weir = await startWeir({ connection, modelUrl: server.url, platform, ...options });
  await onOpen();
  const settled = (): number => weir.events.filter(({ type }) => type === "turn_settled").length;
  const turn = async (): Promise<void> => {
    const before = settled();
    await weir.say("hello", { room: "counted" });
    await weir.event("turn_settled", () => settled() > before);
  };
  await turn();
  sent.length = 0;
  for (let count = 1; count <= 5; count++) await turn();
  return new Set(sent);
}

test("a turn asks the database nothing of a cluster, neither alone nor at its home", async () => {
  const nothing = async (): Promise<void> => Promise.resolve();
  const alone = await statementsOfTurns({}, nothing);
  assert.ok(alone.has("settle_turn"), `the look sees them: ${[...alone].join(", ")}`);
  assert.deepEqual(
    [...alone].filter((name) => /partition|member/.test(name)),
    [],
  );
  const cluster = new TestCluster();
  const home = await statementsOfTurns({ cluster: cluster.join("a") }, async () => cluster.give("a"));
  // The look each second is of no turn.
  const more = [...home].filter((name) => name !== "partitions_due" && /partition|member/.test(name));
  assert.ok(home.has("settle_turn"));
  assert.deepEqual(more, []);
  assert.deepEqual(cluster.wakes, []);
});
