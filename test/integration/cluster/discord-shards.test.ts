// proves: src/platforms/discord/gateway/shards.ts, src/platforms/discord/gateway/shard-intake.ts
// Two daemons on one database and one Discord: one hears, the other is home of the channels.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type DiscordWeir, startDiscordWeir } from "../../support/discord/discord-weir.ts";
import { openMill } from "../../support/discord/mill.ts";
import { text } from "../../support/model-behaviours.ts";
import { until } from "../../support/patience.ts";
import { ScriptedShards } from "../../support/scripted-shards.ts";
import { TestCluster, turnsOf } from "../../support/cluster/test-cluster.ts";

/** Whatever waits for what does not come fails by then. */
const OPTIONS = { timeout: 300_000 };
const IDENTIFY = 2;
const RESUME = 6;

test(
  "whoever hears a question, the home of its channel answers it; when the one that hears goes, the other goes on",
  OPTIONS,
  async () => {
    await using stack = new AsyncDisposableStack();
    const { model, discord, general, ann, mention, options } = stack.use(await openMill());
    model.respond(() => text(["Hello ", "@Ann."]));
    const cluster = new TestCluster();
    const [shardsOfA, shardsOfB] = [new ScriptedShards(), new ScriptedShards()];
    const start = async (name: string, shardHomes: ScriptedShards): Promise<DiscordWeir> =>
      startDiscordWeir({ ...options, cluster: cluster.join(name), shardHomes });
    const a = stack.use(await start("a", shardsOfA));
    const b = stack.use(await start("b", shardsOfB));
    await cluster.give("b");
    shardsOfA.gain(0);
    await until("the login", () => discord.journal.dispatched("GUILD_CREATE").length === 1);

    discord.world.say(ann, general, `${mention} hello`);
    const answer = `Hello <@${ann}>.`;
    await until("the first answer", () => discord.answers(general)[0] === answer);
    assert.deepEqual([turnsOf(a), turnsOf(b)], [0, 1]);

    await until(
      "the place",
      async () => (await b.daemon.store.gatewaySessions.read("discord", 0)) !== undefined,
    );
    await a[Symbol.asyncDispose]();
    discord.world.say(ann, general, `${mention} is anybody there?`);
    shardsOfB.gain(0);
    await until("the second answer", () => discord.answers(general)[1] === answer);
    assert.equal(discord.journal.received(IDENTIFY).length, 1);
    assert.equal(discord.journal.received(RESUME).length, 1);
    assert.equal(turnsOf(b), 2);
  },
);
