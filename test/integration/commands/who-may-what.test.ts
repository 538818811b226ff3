// proves: src/admin/commands/permissions.ts, src/router/router.ts
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import type { Binding } from "../../../src/router/bindings.ts";
import { ANN, authorOf, BEN, command } from "../../support/commands.ts";
import { OWNED, OWNER } from "../../support/owners.ts";
import { createTestDatabase } from "../../support/database.ts";
import { text } from "../../support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import { startWeir, type TestWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());

const CONFIG = `
${OWNED}
[[agents]]
id = "main"
model = "test-model"
instructions = "Never tell anybody of the heron."
`;

async function start(server: ModelServer, binding: Partial<Binding> = {}): Promise<TestWeir> {
  server.respond(() => text("an answer"));
  const platform = new TestPlatform({ serves: () => true });
  return startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: CONFIG,
    binding,
    platform,
  });
}

/** Somebody says something on Discord that nobody answers. */
async function speak(weir: TestWeir, room: string, kind: "channel" | "dm" = "channel"): Promise<void> {
  const channel = { platform: "discord", name: room };
  await weir.say("the mill is old", {
    channel,
    room,
    kind,
    workspace: "w",
    author: authorOf(ANN),
    addressed: false,
  });
}

describe("commands go by the rule of the channel's binding", () => {
  test("whoever is never answered may give none; nothing is written, and nothing is told", async () => {
    await using server = await startModelServer();
    await using weir = await start(server, { allowUsers: [ANN.id] });
    await speak(weir, "closed");
    for (const typed of [
      "context",
      "context detail history",
      "memory",
      "why",
      "status",
      "remember x y",
      "help",
    ])
      assert.match(
        await command(weir, "closed", typed, BEN, "discord"),
        /^Here I answer only people /,
        typed,
      );
    assert.match(await command(weir, "closed", "status", ANN, "discord"), /answered by main/);
    assert.match(await command(weir, "closed", "status", OWNER, "discord"), /answered by main/);
    const channel = await weir.daemon.store.channels.find({ platform: "discord", name: "closed" });
    assert.equal(channel?.lastSeq, 1);
  });

  test("a role that is answered may give them, in DMs the people whose DMs are wanted", async () => {
    await using server = await startModelServer();
    await using weir = await start(server, { allowRoles: ["7"], dmAllow: [ANN.id] });
    await speak(weir, "roles");
    await speak(weir, "dm", "dm");
    const miller = { ...BEN, roles: ["7"] };
    assert.match(await command(weir, "roles", "status", miller, "discord"), /answered by main/);
    assert.match(await command(weir, "roles", "status", BEN, "discord"), /^Here I answer only/);
    assert.match(await command(weir, "dm", "status", ANN, "discord"), /answered by main/);
    assert.match(await command(weir, "dm", "status", BEN, "discord"), /^Here I answer only/);
  });

  test("where no binding holds any more, nobody may give one", async () => {
    await using server = await startModelServer();
    {
      await using weir = await start(server);
      await speak(weir, "left");
    }
    await using weir = await start(server, { channels: ["elsewhere"] });
    assert.equal(await command(weir, "left", "context", ANN, "discord"), "Nobody answers in this channel.");
  });

  test("they count in a minute's questions, but for /stop", async () => {
    await using server = await startModelServer();
    await using weir = await start(server, { rateLimit: 3 });
    await speak(weir, "often");
    const answers: string[] = [];
    for (let index = 0; index < 40; index++)
      answers.push(await command(weir, "often", "status", ANN, "discord"));
    assert.equal(answers.filter((answer) => answer.includes("answered by main")).length, 3);
    assert.match(answers[3] ?? "", /^That is more than I may do for you in a minute, so it was not run\./);
    assert.match(await command(weir, "often", "stop", ANN, "discord"), /Nothing is being written/);
    assert.match(await command(weir, "often", "status", BEN, "discord"), /answered by main/);
  });
});

test("what the agent is told to do, and where its model is, is for owners, also in a DM", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  await speak(weir, "secret");
  await speak(weir, "secret-dm", "dm");
  const host = new URL(server.url).host;
  for (const room of ["secret", "secret-dm"]) {
    for (const key of ["system", "tools", "SYSTEM"]) {
      const answer = await command(weir, room, `context detail ${key}`, ANN, "discord");
      assert.match(
        answer,
        /^\/context detail (system|tools) is for owners only, .*\[platforms\.discord\]\.$/,
      );
    }
    for (const typed of [
      "status",
      "context",
      "context list",
      "why",
      "memory",
      "context detail history",
      "help",
    ]) {
      const answer = await command(weir, room, typed, ANN, "discord");
      assert.ok(!answer.includes("heron") && !answer.includes(host), `${typed}: ${answer}`);
    }
    assert.match(await command(weir, room, "context detail system", OWNER, "discord"), /heron/);
    assert.ok((await command(weir, room, "status", OWNER, "discord")).includes(host));
  }
});
