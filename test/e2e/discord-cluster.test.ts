// proves: src/ownership/cluster/rabbit-shards.ts, src/daemon/cluster.ts, src/platforms/discord/gateway/shards.ts, src/platforms/discord/gateway/shard-intake.ts
// Real daemons on one Postgres, one RabbitMQ and one Discord, whose connections they share.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { GatewayOpcodes } from "discord.js";
import { z } from "zod";
import { type ClusterReport, reportCluster } from "../../src/admin/reports/cluster-report.ts";
import { partitionOf, PARTITIONS } from "../../src/ownership/homes.ts";
import { readyAnswer } from "../../src/daemon/http/openapi.ts";
import { openStore, type OpenStore } from "../store/open-store.ts";
import { findBroker, makeNamespace, skippedWithout } from "../support/cluster/broker.ts";
import { DaemonHomes } from "../support/cluster/daemon-homes.ts";
import { createTestDatabase } from "../support/database.ts";
import { type DiscordServer, startDiscordServer } from "../support/discord/server.ts";
import { envOf } from "../support/e2e-main.ts";
import { echoQuestions, Gate } from "../support/e2e-model.ts";
import { ask } from "../support/http-client.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import { until } from "../support/patience.ts";
import type { TestProcess } from "../support/process.ts";

const broker = await findBroker();
after(async () => broker?.[Symbol.asyncDispose]());
const RUN = { skip: skippedWithout(broker) };

const shown = z.object({
  daemons: z.array(z.object({ name: z.string(), state: z.string() })),
  partitions: z.array(z.object({ id: z.number(), homes: z.array(z.string()) })),
  shards: z.array(
    z.object({
      shard: z.number(),
      of: z.number(),
      epoch: z.number(),
      owner: z.string(),
      holders: z.array(z.string()),
    }),
  ),
});
type Shown = z.output<typeof shown>;

/** Daemons with a folder each, and a Discord with a server on each shard. */
class Scene implements AsyncDisposable {
  readonly discord: DiscordServer;
  readonly model: ModelServer;
  readonly beside: OpenStore;
  readonly channels: readonly string[];
  readonly ann: string;
  readonly #stack: AsyncDisposableStack;
  readonly #homes: DaemonHomes;
  readonly #asked = new Map<string, string>();

  private constructor(
    { discord, model, beside }: Pick<Scene, "discord" | "model" | "beside">,
    shards: number,
    homes: DaemonHomes,
    stack: AsyncDisposableStack,
  ) {
    const { world } = discord;
    this.discord = discord;
    this.model = model;
    this.beside = beside;
    this.ann = world.addUser({ name: "ann", globalName: "Ann" });
    this.channels = Array.from({ length: shards }, (_, shard) => {
      const guild = world.addGuild({ name: `Mill ${shard}`, shard, of: shards });
      return world.addChannel({ guild, name: "general" });
    });
    this.#homes = homes;
    this.#stack = stack;
  }

  static async open(shards: number): Promise<Scene> {
    await using stack = new AsyncDisposableStack();
    const url = broker?.url ?? "";
    const { prefix } = stack.use(makeNamespace(url));
    const { connection } = stack.use(await createTestDatabase());
    const model = stack.use(await startModelServer());
    const discord = stack.use(await startDiscordServer({ shards, maxConcurrency: 16 }));
    const beside = stack.use(openStore(connection));
    model.respond(echoQuestions);
    const config =
      `[platforms.discord]\ndm = "everyone"\nshards = "auto"\napi_url = "${discord.api}"\n` +
      `[[bindings]]\nagent = "main"\nplatform = "discord"\nrate_limit = 0\n` +
      `[http]\nlisten = "127.0.0.1:0"\n[cluster]\nurl = "env:AMQP_URL"\nprefix = "${prefix}"\n`;
    const env = { ...envOf(connection, model.url), AMQP_URL: url, DISCORD_TOKEN: discord.token };
    const homes = stack.use(new DaemonHomes(config, env));
    return new Scene({ discord, model, beside }, shards, homes, stack.move());
  }

  async start(name: string): Promise<TestProcess> {
    return (await this.#homes.of(name)).start();
  }

  /** Runs a command from the folder of a daemon. @returns what it printed */
  async run(name: string, ...args: readonly string[]): Promise<string> {
    const home = await this.#homes.of(name);
    const { code, out, stderr } = await home.look(...args);
    assert.equal(code, 0, stderr);
    return out.join("\n");
  }

  async look(name: string): Promise<Shown> {
    return shown.parse(JSON.parse(await this.run(name, "cluster", "--json")));
  }

  /** What {@link look} tells, without a process for each look. */
  async report(): Promise<ClusterReport> {
    const { members, gatewayShards } = this.beside.store;
    return reportCluster(await members.all(), await members.partitions(), await gatewayShards.all());
  }

  /** Resolves when these daemons have so many shards each, with what `weir cluster --json` of the first tells then. */
  async untilShares(shares: Readonly<Record<string, number>>): Promise<Shown> {
    const areShared = (all: readonly Pick<ClusterReport["shards"][number], "holders">[]): boolean => {
      const has = (name: string): number => all.filter(({ holders }) => holders.join() === name).length;
      return (
        Object.entries(shares).every(([name, share]) => has(name) === share) &&
        all.length === this.channels.length
      );
    };
    const [first = ""] = Object.keys(shares);
    let told: Shown | undefined;
    await until(`shares ${JSON.stringify(shares)}`, async () => {
      if (!areShared((await this.report()).shards)) return false;
      told = await this.look(first);
      return areShared(told.shards);
    });
    assert.ok(told !== undefined);
    return told;
  }

  /** Somebody asks in the server of each shard, and in a direct message. */
  ask(): void {
    const { world } = this.discord;
    for (const channel of [...this.channels, world.openDm(this.ann)]) {
      const question = `question ${this.#asked.size}?`;
      this.#asked.set(question, channel);
      world.say(this.ann, channel, `<@${world.botId}> ${question}`);
    }
  }

  /** Asks again and again until the work is done. */
  async askWhile(work: () => Promise<void>): Promise<void> {
    const asking = setInterval(() => this.ask(), 250);
    try {
      await work();
    } finally {
      clearInterval(asking);
    }
    this.ask();
  }

  /** Resolves when each question is in some answer; fails if one is in two. */
  async assertAnsweredOnce(): Promise<void> {
    const answersTo = (question: string): string[] =>
      this.discord.answers(this.#asked.get(question) ?? "").filter((text) => text.includes(question));
    await until("all answers", () => [...this.#asked.keys()].every((one) => answersTo(one).length > 0));
    await this.untilIdle();
    for (const question of this.#asked.keys())
      assert.equal(answersTo(question).length, 1, `${question}: ${answersTo(question).join(" | ")}`);
    const kept = await this.beside.sql<{ text: string }>("select text from entries where kind = 'user'");
    for (const question of this.#asked.keys())
      assert.equal(kept.filter(({ text }) => text.includes(question)).length, 1, `${question} in the log`);
  }

  /** Resolves when no turn runs. */
  async untilIdle(): Promise<void> {
    await until("the end of all turns", async () => {
      const turns = await this.beside.sql("select 1 from turns where state = 'running'");
      return turns.length === 0;
    });
  }

  /** How often was logged in, and how often a session was gone on with. */
  get logins(): { readonly identify: number; readonly resume: number } {
    const { journal } = this.discord;
    return {
      identify: journal.received(GatewayOpcodes.Identify).length,
      resume: journal.received(GatewayOpcodes.Resume).length,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

test(
  "shards are shared evenly; who has some is killed, another joins, one leaves, while people ask: each question is answered once",
  RUN,
  async () => {
    await using scene = await Scene.open(4);
    const a = await scene.start("a");
    await scene.untilShares({ a: 4 });
    assert.deepEqual(scene.logins, { identify: 4, resume: 0 });
    const b = await scene.start("b");
    await scene.untilShares({ a: 2, b: 2 });
    // What the newcomer has taken it goes on with.
    assert.deepEqual(scene.logins, { identify: 4, resume: 2 });
    scene.ask();
    await scene.assertAnsweredOnce();

    await scene.askWhile(async () => {
      await a.kill();
      await until("the dead one's shards", () => scene.logins.resume === 4);
    });
    const afterKill = await scene.untilShares({ b: 4 });
    assert.deepEqual(scene.logins, { identify: 4, resume: 4 });
    assert.ok(afterKill.shards.every(({ owner, of }) => owner === "b" && of === 4));
    await scene.assertAnsweredOnce();

    await scene.start("c");
    await scene.untilShares({ c: 2, b: 2 });
    await scene.askWhile(async () => {
      b.signal("SIGTERM");
      assert.deepEqual(await b.ended, { code: 0, signal: null }, b.stderr);
    });
    const last = await scene.untilShares({ c: 4 });
    assert.deepEqual(scene.logins, { identify: 4, resume: 8 });
    assert.ok(last.shards.every(({ epoch }) => epoch > 1));
    await scene.assertAnsweredOnce();
    // Nobody has ended a session.
    const codes = scene.discord.journal.connections("close").map(({ code }) => code);
    assert.ok(!codes.includes(1000) && !codes.includes(1001), codes.join());
  },
);

test("two daemons and two shards", RUN, async (t) => {
  await using scene = await Scene.open(2);
  const a = await scene.start("a");
  const b = await scene.start("b");
  await t.test(
    "who is frozen while it has shards wakes without them: another goes on with their sessions, and keeps them",
    async () => {
      await scene.untilShares({ b: 1, a: 1 });
      const before = scene.logins;
      const places = async (): Promise<Map<number, number>> => {
        const rows = await scene.beside.sql<{ shard: number; sequence: number }>(
          "select shard, sequence from gateway_sessions",
        );
        return new Map(rows.map(({ shard, sequence }) => [shard, sequence]));
      };
      await scene.askWhile(async () => {
        a.signal("SIGSTOP");
        await until("the frozen one's shard", () => scene.logins.resume === before.resume + 1);
      });
      await scene.assertAnsweredOnce();
      await until("the places", async () => (await places()).size === 2);
      const kept = await places();
      await scene.askWhile(async () => {
        a.signal("SIGCONT");
        await a.errorLine("Not in the cluster");
        // It joins again, and takes its share as anybody does.
        await scene.untilShares({ b: 1, a: 1 });
      });
      await scene.assertAnsweredOnce();
      // Whoever woke has not gone on with the session that was another's: each RESUME is a hand-over.
      const epochs = (await scene.look("b")).shards.reduce((sum, { epoch }) => sum + epoch, 0);
      assert.equal(scene.logins.identify, before.identify);
      assert.equal(scene.logins.identify + scene.logins.resume, epochs);
      for (const [shard, sequence] of await places()) assert.ok(sequence >= (kept.get(shard) ?? 0));
      assert.equal(scene.discord.gateway.openConnections(), 2);
    },
  );
  await t.test(
    "a session that Discord has forgotten is begun anew by the next daemon, which fetches what was missed",
    async () => {
      await scene.untilShares({ b: 1, a: 1 });
      scene.ask();
      await scene.assertAnsweredOnce();
      const before = scene.logins;
      await a.kill();
      // Of the shard that nobody has now; the other is on a connection, and hears nothing of it.
      scene.discord.gateway.forgetSessions();
      scene.ask();
      scene.discord.gateway.cut();
      await until("new logins", () => scene.logins.identify === before.identify + 2);
      await scene.untilShares({ b: 2 });
      scene.ask();
      await scene.assertAnsweredOnce();
      assert.equal(b.isOver, false);
    },
  );
});

test("two daemons and one shard", RUN, async (t) => {
  await using scene = await Scene.open(1);
  const a = await scene.start("a");
  const b = await scene.start("b");
  await t.test(
    "a command of Discord's reaches the channel's home, whichever daemon has the shard",
    async () => {
      const { discord, model, ann } = scene;
      const { world } = discord;
      await scene.untilShares({ a: 1 });
      const guild = world.addGuild({ name: "Many rooms", shard: 0, of: 1 });
      let room = "";
      await until("a room of the other's", async () => {
        const { partitions } = await scene.report();
        room = world.addChannel({ guild, name: "room" });
        return partitions[partitionOf({ platform: "discord", name: room })]?.homes.join() === "b";
      });
      const gate = new Gate();
      model.respond(() => gate.between("Half of an answer", " never comes"));
      world.say(ann, room, `<@${world.botId}> tell me something long`);
      await until("half of it", () => discord.answers(room)[0]?.startsWith("Half") === true);
      const [{ owner } = { owner: "" }] = await scene.beside.sql<{ owner: string }>(
        "select p.owner from channels c join partitions p on p.id = c.partition where c.name = $1",
        room,
      );
      assert.equal(owner, "b");
      const call = world.command(ann, room, "stop");
      await until("its answer", () => call.responses().some(({ isLoading }) => !isLoading));
      await scene.untilIdle();
      assert.doesNotMatch(discord.answers(room).join(), /never comes/);
      gate.open();
      model.respond(echoQuestions);
    },
  );
  await t.test(
    "a daemon without a shard is ready, answers and is drained; an operator sees who has what",
    async () => {
      const { shards } = await scene.untilShares({ a: 1 });
      assert.equal(shards[0]?.epoch, 1, "nothing is handed on to a newcomer where there is one shard");
      scene.ask();
      await scene.assertAnsweredOnce();
      for (const daemon of [a, b]) {
        const line = await daemon.errorLine('"http_listens"');
        const url = /"where":"(?<url>[^"]+)"/.exec(line)?.groups?.["url"] ?? "";
        await until("readiness", async () => {
          const { status, body } = await ask(`${url}/readyz`);
          return status === 200 && readyAnswer.parse(JSON.parse(body)).status === "ok";
        });
      }
      await until("partitions of two", async () => {
        const { partitions } = await scene.report();
        return partitions.filter(({ homes }) => homes.join() === "b").length === PARTITIONS / 2;
      });
      let told = "";
      await until("the shares in words", async () => {
        told = await scene.run("b", "cluster");
        return /^b .* discord none of 1 +home of 32 partitions/m.test(told);
      });
      assert.match(told, /^a .* discord 0 of 1 +home of 32 partitions/m);
      assert.match(told, /^Every shard of discord is some daemon's\.$/m);
      assert.match(await scene.run("a", "status", "--daemon", "b"), /without a shard of the gateway/);
      assert.match(await scene.run("b", "cluster", "drain", "a"), /^a is home of nothing any more/m);
      await scene.untilShares({ b: 1 });
      scene.ask();
      await scene.assertAnsweredOnce();
      assert.deepEqual(scene.logins, { identify: 1, resume: 1 });
    },
  );
});
