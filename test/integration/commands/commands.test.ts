// proves: src/admin/commands/commands.ts, src/admin/commands/why.ts, src/admin/commands/status.ts
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { agentId, type ChannelId } from "../../../src/core/ids.ts";
import type { ChannelKind } from "../../../src/core/message.ts";
import type { Asker } from "../../../src/platforms/platform.ts";
import { openStore } from "../../store/open-store.ts";
import { ANN, authorOf, BEN, command } from "../../support/commands.ts";
import { hold } from "../../support/compaction.ts";
import { OWNED, OWNER } from "../../support/owners.ts";
import { createTestDatabase } from "../../support/database.ts";
import { text } from "../../support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import { startWeir, type TestWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
const open = openStore(database.connection);
after(async () => {
  await open[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const CONFIG = `
${OWNED}
owner_roles = ["Moderators"]
[[agents]]
id = "main"
name = "Weir"
model = "test-model"
time_zone = "UTC"
`;
const MODERATOR: Asker = { id: "u-mod", name: "Mo", roles: ["12"], roleNames: ["moderators"] };

async function start(server: ModelServer): Promise<TestWeir> {
  const platform = new TestPlatform({ serves: () => true });
  const weir = await startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: CONFIG,
    platform,
  });
  await weir.daemon.inbox.meetServers("discord", async () => [{ id: "w", name: "Weirs" }]);
  return weir;
}

let count = 0;

/** A channel on Discord in which somebody has said something. */
async function discord(kind: ChannelKind = "channel"): Promise<{ room: string; id: ChannelId }> {
  const room = `room-${++count}`;
  const address = { platform: "discord", name: room };
  const id = await open.store.channels.open({ address, kind, workspace: "w", agent: agentId("main") });
  await open.say(id, "it rains", { addressed: false });
  return { room, id };
}

describe("what holds for everybody is the owners' to change", () => {
  test("others are refused /reset, /compact and /summarize, and nothing happens", async () => {
    await using server = await startModelServer();
    await using weir = await start(server);
    const { room, id } = await discord();
    for (const name of ["reset", "compact", "summarize"]) {
      const answer = await command(weir, room, name, ANN, "discord");
      assert.match(answer, new RegExp(`^/${name} .*owners only.*\\[platforms\\.discord\\]\\.$`));
    }
    assert.equal((await open.store.load(id)).channel.coveredTo, 0);
    assert.equal(server.requests.length, 0);
  });

  test("an owner may, by id or by a role; and in a DM everybody", async () => {
    await using server = await startModelServer();
    await using weir = await start(server);
    for (const asker of [OWNER, MODERATOR]) {
      const { room, id } = await discord();
      assert.match(await command(weir, room, "compact", asker, "discord"), /^Nothing was summarised/);
      assert.match(await command(weir, room, "reset", asker, "discord"), /^Reset: /);
      assert.equal((await open.store.load(id)).channel.coveredTo, 1);
    }
    const dm = await discord("dm");
    assert.match(await command(weir, dm.room, "reset", ANN, "discord"), /^Reset: /);
  });

  test("/stop is for the one who is being answered, and for owners", async () => {
    await using server = await startModelServer();
    await using weir = await start(server);
    for (const stopper of [ANN, OWNER]) {
      const { room, id } = await discord();
      const idle = "Nothing is being written just now.";
      assert.equal(await command(weir, room, "stop", ANN, "discord"), idle);
      const held = hold();
      server.respond(() => held.behaviour);
      const asked = server.requests.length;
      await open.say(id, "tell me", { author: authorOf(ANN), addressed: true });
      (await weir.daemon.registry.get(id)).wake();
      await server.received(asked + 1);
      // Ben waits for the next turn: this one is not his.
      await open.say(id, "me, too", { author: authorOf(BEN), addressed: true });
      assert.match(
        await command(weir, room, "stop", BEN, "discord"),
        /^\/stop is for whoever is being answered/,
      );
      assert.equal((await open.sql("select from turns where state = 'running'")).length, 1);
      assert.equal(await command(weir, room, "stop", stopper, "discord"), "Stopped.");
      const { outcome } = await weir.event("turn_settled", ({ channel }) => channel === `discord:${room}`);
      assert.equal(outcome, "stopped");
      held.release(text("too late"));
    }
  });

  test("/help marks what the asker may not run, and nothing for an owner or in a DM", async () => {
    await using server = await startModelServer();
    await using weir = await start(server);
    const [{ room }, dm] = [await discord(), await discord("dm")];
    const strange = await command(weir, room, "help", ANN, "discord");
    assert.match(strange, /^\/reset {2}start again.*\(owners only\)$/m);
    assert.match(strange, /^\/remember \[TEXT\] {2}/m);
    assert.doesNotMatch(await command(weir, room, "help", MODERATOR, "discord"), /owners/);
    assert.doesNotMatch(await command(weir, dm.room, "help", ANN, "discord"), /owners/);
    assert.match(await command(weir, "unheard-of", "help", ANN, "discord"), /owners only/);
  });
});

describe("/context", () => {
  test("lists the parts of the next request, and shows one in full, without the operator's secrets", async () => {
    await using server = await startModelServer();
    await using weir = await start(server);
    const { room, id } = await discord();
    await open.say(id, `the token is ${server.url}, says zxqben`, { addressed: false });
    const list = await command(weir, room, "context list", ANN, "discord");
    assert.match(list, /^ {2}history .*[\d,]+ tokens +\d+\.\d %$/m);
    const shown = await command(weir, room, "context detail history", ANN, "discord");
    assert.match(shown, /^history: raw history, 2 items/);
    assert.match(shown, /it rains[\s\S]*the token is •••, says zxqben/);
    assert.match(await command(weir, room, "context detail tools", OWNER, "discord"), /memory_recall: /);
    assert.match(
      await command(weir, room, "context DETAIL Histroy", ANN, "discord"),
      /Did you mean history\?/,
    );
    assert.match(
      await command(weir, room, "context detail", ANN, "discord"),
      /^Of which part\? The keys are/,
    );
    assert.match(
      await command(weir, room, "context everything", ANN, "discord"),
      /^This is \/context, \/context list or/,
    );
    assert.match(await command(weir, room, "context", ANN, "discord"), /Nothing is remembered yet/);
  });
});

test("an unknown command, and a channel that nobody has used, are told plainly", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  assert.match(await command(weir, "anywhere", "nosuch"), /^There is no command \/nosuch\. \/help/);
  assert.match(
    await command(weir, "anywhere", "contxt"),
    /^There is no command \/contxt\. Did you mean \/context\?/,
  );
  for (const typed of ["forget me yes", "remember tea", "why", "context list", "memory"])
    assert.match(await command(weir, "unheard-of", typed), /^Nothing has been said to me here yet\./);
});

test("/reset with something behind it is refused, says how it is used, and resets nothing", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  const { room, id } = await discord();
  const answer = await command(weir, room, "reset the printer", OWNER, "discord");
  assert.equal(answer, "Nothing was reset: this is /reset, with nothing behind it.");
  assert.equal((await open.store.load(id)).channel.coveredTo, 0);
});
