// proves: src/admin/commands/commands.ts
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { COMMANDS } from "../../../src/features/features.ts";
import type { PlatformCapabilities } from "../../../src/platforms/platform.ts";
import { ANN, command } from "../../support/commands.ts";
import { hold } from "../../support/compaction.ts";
import { createTestDatabase } from "../../support/database.ts";
import { stalledStream, text } from "../../support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import { startWeir, type TestWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const CONFIG = `[[agents]]\nid = "main"\nmodel = "test-model"\n`;

async function start(server: ModelServer, platform: TestPlatform): Promise<TestWeir> {
  server.respond(() => text("an answer"));
  return startWeir({ connection: database.connection, modelUrl: server.url, config: CONFIG, platform });
}

const SLACK: Partial<PlatformCapabilities> = { commandPrefix: "/weir ", isProportional: true };
const NAMES = COMMANDS.map(({ name }) => name).join("|");

describe("where commands are typed behind /weir", () => {
  test("every text that names a command names it so", async () => {
    await using server = await startModelServer();
    await using weir = await start(server, new TestPlatform(SLACK));
    const room = "typed";
    await weir.say("hello", { room, addressed: false });
    const texts: string[] = [];
    for (const typed of [
      "help",
      "remember the mill is old",
      "remember",
      "forget",
      "forget 99",
      "forget me",
      "context list",
      "context nothing",
      "context detail system",
      "reset now",
      "compact",
      "memory",
      "learned",
      "forget L9",
      "unknown",
    ])
      texts.push(await command(weir, room, typed));
    assert.match(texts[1] ?? "", /\/weir forget \d+ takes it back/);
    assert.match(texts[0] ?? "", /^\/weir forget \[NUMBER \| L1 \| QUERY \| me \| me everywhere\]/m);
    for (const one of texts)
      assert.doesNotMatch(one, new RegExp(`(?<!\\w)/(?:${NAMES})\\b`), "a command that is not there");
  });

  test("in a thread, which has no slash commands, they are named behind the mention with which one was typed", async () => {
    await using server = await startModelServer();
    const platform = new TestPlatform({ ...SLACK, hasTextCommands: true });
    await using weir = await start(server, platform);
    const where = { room: "typed-thread", kind: "thread" } as const;
    await weir.say("hello", { ...where, addressed: false });
    await weir.say("@weir /forget", where);
    await weir.say("@weir /forget 99", where);
    await platform.until(() => platform.calls.length === 2);
    const texts = platform.calls.map(({ message }) => message.text).toSorted();
    assert.match(texts[0] ?? "", /^@weir \/forget NUMBER forgets .* @weir \/forget me forgets/);
    assert.match(texts[1] ?? "", /^There is no memory #99 here\. @weir \/memory lists/);
  });

  test("what people have said is quoted as they said it", async () => {
    await using server = await startModelServer();
    await using weir = await start(server, new TestPlatform(SLACK));
    await weir.say("hello", { room: "quoted", addressed: false });
    await command(weir, "quoted", "remember that /status of the build is at /reset");
    assert.match(await command(weir, "quoted", "memory"), /that \/status of the build is at \/reset/);
  });
});

test("columns stand in a code block, under the channel's name, and nothing ends the block", async () => {
  await using server = await startModelServer();
  await using weir = await start(server, new TestPlatform(SLACK));
  const place = { workspace: "Acme", channel: "general", parent: null };
  await weir.say("look: ```\n@everyone", { room: "C0", place, addressed: false });
  for (const typed of ["context", "context list", "context detail history"]) {
    const answer = await command(weir, "C0", typed);
    assert.match(answer, /^```\n[^]*\n```$/, typed);
    assert.equal(answer.split("```").length, 3, typed);
    if (!typed.endsWith("history")) assert.match(answer, /^```\n#general in Acme · agent main/);
  }
  assert.match(await command(weir, "C0", "status"), /^#general in Acme, answered by main\n/);
});

test("/summarize where nothing was said, or nothing since, says so", async () => {
  await using server = await startModelServer();
  await using weir = await start(server, new TestPlatform());
  await weir.say("hello", { room: "empty", addressed: false });
  await command(weir, "empty", "reset");
  assert.match(
    await command(weir, "empty", "summarize"),
    /^Nothing was summarised: nothing has been said here since the last summary or reset\.$/,
  );
});

describe("/stop, typed in a message,", () => {
  const said = "It rains on the mill. The miller is at the ri";
  const stopped = async (weir: TestWeir, server: ModelServer, room: string): Promise<void> => {
    server.respond(() => stalledStream(said));
    await weir.say("tell me everything", { room, author: { ...ANN, isBot: false } });
    await weir.platform.until(() =>
      [...weir.platform.shown.values()].some(({ text: shown }) => shown.includes("miller")),
    );
    await weir.say("/stop", { room, id: `${room}-stop`, author: { ...ANN, isBot: false } });
    await weir.event("reply_delivered", ({ channel }) => channel === `test:${room}`);
    assert.deepEqual(
      [...weir.platform.shown.values()]
        .filter(({ channel }) => channel.name === room)
        .map(({ text: shown }) => shown),
      ["It rains on the mill. The miller is at the … (stopped)"],
    );
  };

  test("leaves whole words and a sign, and is answered by an emoji where nobody can be told alone", async () => {
    await using server = await startModelServer();
    await using weir = await start(
      server,
      new TestPlatform({ hasTextCommands: true, streaming: { intervalMs: 0 } }),
    );
    await stopped(weir, server, "loud");
    assert.deepEqual(weir.platform.reactions, ["loud-stop 🛑"]);
  });

  test("is answered to the asker alone where the platform can", async () => {
    await using server = await startModelServer();
    const alone: string[] = [];
    const platform = Object.assign(
      new TestPlatform({ hasTextCommands: true, streaming: { intervalMs: 0 } }),
      {
        tellAlone: async (_: unknown, person: string, told: string) => void alone.push(`${person}: ${told}`),
      },
    );
    await using weir = await start(server, platform);
    await stopped(weir, server, "quiet");
    assert.deepEqual([alone, weir.platform.reactions], [[`${ANN.id}: Stopped.`], []]);
  });
});

test("an answer to words that were changed meanwhile says so, the next one reads the new words", async () => {
  await using server = await startModelServer();
  await using weir = await start(server, new TestPlatform());
  const held = hold();
  server.respond(() => held.behaviour);
  await weir.say("is it blue?", { room: "changed", id: "q1" });
  await server.received(1);
  const edit = { type: "edit", platform: "test", id: "q1", text: "is it green?", at: new Date() } as const;
  assert.equal((await weir.daemon.inbox.receive(edit)).outcome, "accepted");
  held.release(text("Yes, blue."));
  await weir.platform.until(() => weir.platform.texts("changed").length === 1);
  assert.deepEqual(weir.platform.texts("changed"), [
    "Yes, blue.\n\n(A message was changed meanwhile: this answers it as it read before.)",
  ]);
  server.respond(() => text("Then green."));
  await weir.say("well?", { room: "changed" });
  await weir.platform.until(() => weir.platform.texts("changed").length === 2);
  assert.equal(weir.platform.texts("changed")[1], "Then green.");
  const next =
    server.requests
      .at(-1)
      ?.body.messages.map(({ content }) => content ?? "")
      .join("\n") ?? "";
  assert.match(next, /is it blue\?[^]*Yes, blue\.[^]*was changed by its author[^]*is it green\?/);
});
