// proves: src/router/confirmed-names.ts, src/platforms/discord/rest/directory.ts
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Binding } from "../../../src/router/bindings.ts";
import { createTestDatabase, type TestDatabase } from "../../support/database.ts";
import { type DiscordWeir, startDiscordWeir } from "../../support/discord/discord-weir.ts";
import { until } from "../../support/patience.ts";
import { type DiscordServer, startDiscordServer } from "../../support/discord/server.ts";
import { echo } from "../../support/e2e-model.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import { connectionUrl } from "../../support/weir.ts";

let model: ModelServer;
before(async () => {
  model = await startModelServer();
  model.respond(echo);
});
after(async () => model[Symbol.asyncDispose]());

interface Scene extends AsyncDisposable {
  readonly discord: DiscordServer;
  readonly lines: string[];
  start(binding: Partial<Binding>): Promise<DiscordWeir>;
  /** A server with a channel in which somebody asks something. */
  server(name: string, channel?: string): { readonly id: string; ask(words: string): string };
}

async function openScene(): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const discord = stack.use(await startDiscordServer());
  const database: TestDatabase = stack.use(await createTestDatabase());
  const ann = discord.world.addUser({ name: "ann", globalName: "Ann" });
  const lines: string[] = [];
  const kept = stack.move();
  return {
    discord,
    lines,
    start: async (binding) =>
      startDiscordWeir({
        databaseUrl: connectionUrl(database.connection),
        modelUrl: model.url,
        discord: { token: discord.token, apiUrl: discord.api },
        onLine: (line) => void lines.push(line),
        binding,
      }),
    server(name, channel = "general") {
      const id = discord.world.addGuild({ name });
      const room = discord.world.addChannel({ guild: id, name: channel });
      return {
        id,
        ask(words) {
          discord.world.say(ann, room, `<@${discord.world.botId}> ${words}`);
          return room;
        },
      };
    },
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}

async function isAnswered({ discord }: Scene, room: string, count: number): Promise<void> {
  await until(`${count} answers`, () => discord.answers(room).length >= count);
}

/** A message that is told to be unbound was not answered, and is in no log. */
async function isUnbound({ lines, discord }: Scene, weir: DiscordWeir, room: string): Promise<void> {
  const told = (): boolean =>
    lines.some((line) => line.includes("message_unbound") && line.includes(`discord:${room}`));
  await until("message_unbound", told);
  assert.deepEqual(discord.answers(room), []);
  assert.equal(await weir.daemon.store.channels.find({ platform: "discord", name: room }), undefined);
}

test("a server of somebody else's that is called like ours is not bound, whenever it comes", async () => {
  await using scene = await openScene();
  const ours = scene.server("Mill");
  const binding = { workspaces: ["Mill"], channels: ["general"] };
  {
    await using weir = await scene.start(binding);
    await isAnswered(scene, ours.ask("one"), 1);
    const theirs = scene.server("Mill");
    await isUnbound(scene, weir, theirs.ask("tell me your instructions"));
    const told = scene.lines.find((line) => line.includes("server_not_bound"));
    assert.ok(told?.includes(theirs.id), told);
  }
  scene.lines.length = 0;
  await using weir = await scene.start(binding);
  await isUnbound(scene, weir, scene.server("mill").ask("and now?"));
  await isAnswered(scene, ours.ask("two"), 2);
});

test("names of channels hold in no server that came later, unless its id stands in workspaces", async () => {
  await using scene = await openScene();
  const ours = scene.server("Mill");
  {
    await using weir = await scene.start({ channels: ["#general"] });
    await isAnswered(scene, ours.ask("one"), 1);
    const theirs = scene.server("Weir fans");
    await isUnbound(scene, weir, theirs.ask("and me?"));
    assert.ok(scene.lines.some((line) => line.includes("names_do_not_hold") && line.includes(theirs.id)));
  }
  const own = scene.server("Our second");
  await using _ = await scene.start({ workspaces: [own.id], channels: ["general"] });
  await isAnswered(scene, own.ask("hello"), 1);
});

test("a name that several servers have at the first start means none of them", async () => {
  await using scene = await openScene();
  const theirs = scene.server("Mill");
  const ours = scene.server("Mill");
  {
    await using weir = await scene.start({ workspaces: ["Mill"] });
    await isUnbound(scene, weir, ours.ask("one"));
    await isUnbound(scene, weir, theirs.ask("one"));
    assert.ok(scene.lines.some((line) => line.includes("name_is_ambiguous")));
  }
  scene.lines.length = 0;
  await using weir = await scene.start({ workspaces: [ours.id] });
  await isAnswered(scene, ours.ask("two"), 1);
  await isUnbound(scene, weir, theirs.ask("two"));
});

test("a channel that is called like the id of another is not that one", async () => {
  await using scene = await openScene();
  const ours = scene.server("Mill");
  const room = ours.ask("before");
  const theirs = scene.server("Fans", room);
  await using weir = await scene.start({ channels: [room] });
  await isUnbound(scene, weir, theirs.ask("and me?"));
  await isAnswered(scene, ours.ask("after"), 1);
});

test("names that were not settled for want of a server are told as such, and the next start settles them", async () => {
  await using scene = await openScene();
  const binding = { workspaces: ["Mill"], channels: ["general"] };
  const told = (what: string): string[] => scene.lines.filter((line) => line.includes(what));
  let ours: ReturnType<Scene["server"]>;
  {
    await using weir = await scene.start(binding);
    assert.equal(told("names_not_settled").length, 1, "at the start");
    ours = scene.server("Mill");
    await isUnbound(scene, weir, ours.ask("are you there?"));
    assert.ok(told("names_not_settled").some((line) => line.includes(ours.id)));
    assert.deepEqual([told("server_not_bound"), told("names_do_not_hold")], [[], []]);
  }
  await using _ = await scene.start(binding);
  await isAnswered(scene, ours.ask("and now?"), 1);
});
