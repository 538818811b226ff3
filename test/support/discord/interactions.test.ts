import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";

import {
  ApplicationCommandOptionType,
  ChatInputCommandInteraction,
  DiscordAPIError,
  Events,
  MessageFlags,
  Routes,
  type Client,
} from "discord.js";

import { login } from "./login.ts";
import { startDiscordServer, type DiscordServer } from "./server.ts";
import type { DiscordOptions } from "./state.ts";
import type { CommandCall } from "./world.ts";

const GLOBAL = "/applications/:application/commands";

interface Scene extends AsyncDisposable {
  readonly server: DiscordServer;
  readonly client: Client<true>;
  readonly channel: string;
  /** A person calls /memory, and the client receives it. */
  call(): Promise<{ call: CommandCall; interaction: ChatInputCommandInteraction }>;
}

async function openScene(options: DiscordOptions = {}): Promise<Scene> {
  const server = await startDiscordServer(options);
  const channel = server.world.addChannel({ guild: server.world.addGuild(), name: "general" });
  const ada = server.world.addUser({ name: "ada" });
  const client = await login(server);
  await client.application.commands.create({ name: "memory", description: "What the bot remembers" });
  return {
    server,
    client,
    channel,
    async call() {
      const came = once(client, Events.InteractionCreate);
      const call = server.world.command(ada, channel, "memory", { topic: "tea", limit: 3 });
      const [interaction] = await came;
      assert(interaction instanceof ChatInputCommandInteraction);
      return { call, interaction };
    },
    async [Symbol.asyncDispose]() {
      await client.destroy();
      await server[Symbol.asyncDispose]();
    },
  };
}

const withCode = (code: number) => (error: unknown) =>
  error instanceof DiscordAPIError && error.code === code;

test("a command is deferred, filled in and followed up", async () => {
  await using scene = await openScene();
  const { call, interaction } = await scene.call();
  assert.equal(interaction.options.getString("topic"), "tea");
  assert.equal(interaction.options.getInteger("limit"), 3);
  await interaction.deferReply();
  assert.deepEqual(
    call.responses().map(({ text, isLoading }) => [text, isLoading]),
    [["", true]],
  );
  await interaction.editReply("You like tea.");
  await interaction.followUp({ content: "Only you see this.", flags: MessageFlags.Ephemeral });
  assert.deepEqual(
    call.responses().map(({ text, isLoading, isEphemeral }) => [text, isLoading, isEphemeral]),
    [
      ["You like tea.", false, false],
      ["Only you see this.", false, true],
    ],
  );
  assert.deepEqual(scene.server.answers(scene.channel), ["You like tea."]);
});

test("an ephemeral deferral keeps the answer out of the channel, and a follow-up fills it", async () => {
  await using scene = await openScene();
  const { call, interaction } = await scene.call();
  await interaction.deferReply({ flags: MessageFlags.Ephemeral });
  await interaction.followUp("Secret.");
  assert.deepEqual(
    call.responses().map(({ text, isEphemeral }) => [text, isEphemeral]),
    [["Secret.", true]],
  );
  assert.deepEqual(scene.server.messages(scene.channel), []);
});

test("an interaction is acknowledged once, in time, and lives as long as its token", async () => {
  await using scene = await openScene();
  const { interaction } = await scene.call();
  await interaction.reply("one");
  // The client itself refuses a second reply; another process of the same bot could not.
  const path = `/interactions/${interaction.id}/${interaction.token}/callback` as const;
  const again = scene.client.rest.post(path, { auth: false, body: { type: 4, data: { content: "two" } } });
  await assert.rejects(again, withCode(40_060));

  await using late = await openScene({ interactionAckMs: 0 });
  await assert.rejects((await late.call()).interaction.deferReply(), withCode(10_062));

  await using old = await openScene({ interactionTokenMs: 0 });
  const expired = await old.call();
  await expired.interaction.deferReply();
  await assert.rejects(expired.interaction.editReply("too late"), withCode(50_027));
  assert.equal(expired.call.responses()[0]?.isLoading, true);
});

test("commands can be read, added, changed and removed one by one", async () => {
  await using scene = await openScene();
  const { commands } = scene.client.application;
  const before = await commands.fetch();
  assert.deepEqual(
    before.map(({ name }) => name),
    ["memory"],
  );
  const id = before.firstKey();
  assert(id !== undefined);
  const edited = await commands.edit(id, { description: "Another" });
  assert.deepEqual([edited.id, edited.description], [id, "Another"]);
  await commands.set([
    { name: "memory", description: "Again" },
    { name: "stop", description: "Stops" },
  ]);
  const after = await commands.fetch();
  assert.equal(after.find(({ name }) => name === "memory")?.id, id);
  await commands.delete(id);
  assert.deepEqual(scene.server.commands(), ["stop"]);
  assert.equal(scene.server.journal.calls("PUT", GLOBAL).length, 1);
});

test("commands that Discord would refuse are refused, all of those that come together", async () => {
  await using scene = await openScene();
  const put = async (...bodies: object[]): Promise<unknown> =>
    scene.client.rest.put(Routes.applicationCommands(scene.client.application.id), { body: bodies });
  const option = { type: ApplicationCommandOptionType.String, name: "part", description: "Which part" };
  const command = (...options: object[]): object => ({ name: "context", description: "How full", options });
  const refused: object[][] = [
    ...["Context", "a b", "", "x".repeat(33)].map((name) => [{ name, description: "Some" }]),
    ...["", "x".repeat(101)].map((description) => [{ name: "context", description }]),
    ...["list | detail key", "NUMBER", "", "x".repeat(33)].map((name) => [command({ ...option, name })]),
    ...["", "x".repeat(101)].map((description) => [command({ ...option, description })]),
    [command({ ...option, type: 12 })],
    [command(option, option)],
    [command(...Array.from({ length: 26 }, (_, index) => ({ ...option, name: `part-${index}` })))],
    [command(), command()],
    Array.from({ length: 101 }, (_, index) => ({ name: `context-${index}`, description: "Some" })),
  ];
  for (const bodies of refused)
    await assert.rejects(put(...bodies), withCode(50_035), JSON.stringify(bodies));
  assert.deepEqual(scene.server.commands(), ["memory"]);
  await put(
    ...Array.from({ length: 100 }, (_, index) => ({ name: `größe_${index}-'`, description: "Some" })),
  );
  const { commands } = scene.client.application;
  await assert.rejects(commands.create({ name: "more", description: "Some" }), withCode(30_032));
  await put(command(option), { name: "help", description: "This list" });
  const help = (await commands.fetch()).find(({ name }) => name === "help");
  assert(help);
  await assert.rejects(commands.edit(help.id, { name: "context" }), withCode(50_035));
});

test("nobody can call a command that was not registered", async () => {
  await using scene = await openScene();
  const ada = scene.server.world.addUser({ name: "ada" });
  assert.throws(() => scene.server.world.command(ada, scene.channel, "forget"), /registered no command/);
});
