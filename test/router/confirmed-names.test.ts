// What another configuration names, before it is in force.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { pino } from "pino";
import { agentId } from "../../src/core/ids.ts";
import type { Server } from "../../src/core/message.ts";
import { bindPlatform } from "../../src/router/bindings.ts";
import { ConfirmedNames, type NamingConfig } from "../../src/router/confirmed-names.ts";
import { openStore } from "../store/open-store.ts";
import { createTestDatabase } from "../support/database.ts";

const database = await createTestDatabase();
const outside = openStore(database.connection);
after(async () => {
  await outside[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const MILL: Server = { id: "11", name: "mill" };
const FOREIGN: Server = { id: "99", name: "Mill" };

/** One binding: servers and channels by name or id. */
function naming(
  workspaces: readonly string[],
  channels: readonly string[],
  roles: readonly string[] = [],
): NamingConfig {
  const binding = { ...bindPlatform("discord", agentId("main")), workspaces, channels };
  return { bindings: [binding], ownerRoles: { discord: roles } };
}

interface Scene {
  readonly names: ConfirmedNames;
  readonly lines: string[];
  /** The servers that the bot is in. */
  servers: readonly Server[] | Error;
  meet(): Promise<void>;
}

async function openScene(config: NamingConfig): Promise<Scene> {
  await outside.sql("truncate confirmed_names");
  const lines: string[] = [];
  const log = pino({ level: "warn" }, { write: (line: string) => void lines.push(line) });
  const names = new ConfirmedNames({ ...config, store: outside.store.names, log });
  const list = async (): Promise<readonly Server[]> => {
    if (scene.servers instanceof Error) throw scene.servers;
    return scene.servers;
  };
  const scene: Scene = { names, lines, servers: [MILL], meet: async () => names.meet("discord", list) };
  return scene;
}

test("names of another configuration are confirmed as a start would, and hold nowhere else before it is in force", async () => {
  const scene = await openScene(naming([], ["11"]));
  const { names } = scene;
  await scene.meet();
  const confirm = await names.prepare(naming(["mill", "77"], ["river"], ["millers"]));
  assert.ok(!names.holds("discord", "channel", "river", "77"), "the id is named by what is not in force yet");
  confirm();
  assert.ok(names.holds("discord", "workspace", "mill", MILL.id));
  assert.ok(names.holds("discord", "channel", "river", MILL.id));
  assert.ok(names.holds("discord", "role", "millers", MILL.id));
  assert.ok(names.holds("discord", "channel", "river", "77"), "a server that is named by its id");
  assert.ok(!names.holds("discord", "channel", "river", FOREIGN.id));
  // What is said where names do not hold is told once by each configuration.
  names.tellUnbound("discord", FOREIGN);
  names.tellUnbound("discord", FOREIGN);
  assert.equal(scene.lines.filter((line) => line.includes("server_not_bound")).length, 1);
  (await names.prepare(naming(["mill"], ["river"])))();
  names.tellUnbound("discord", FOREIGN);
  assert.equal(scene.lines.filter((line) => line.includes("server_not_bound")).length, 2);
  assert.ok(!names.holds("discord", "channel", "river", "77"), "its id is named no more");
});

test("a name that was settled once stays settled, whoever has it when it is named again", async () => {
  const scene = await openScene(naming(["mill"], []));
  const { names } = scene;
  await scene.meet();
  (await names.prepare(naming([], [])))();
  scene.servers = [MILL, FOREIGN];
  (await names.prepare(naming(["mill"], ["lake"])))();
  assert.ok(names.holds("discord", "workspace", "mill", MILL.id));
  assert.ok(!names.holds("discord", "workspace", "mill", FOREIGN.id), "it came later under this name");
  assert.ok(
    names.holds("discord", "channel", "lake", FOREIGN.id),
    "this name is new, and the bot is in both",
  );
});

test("before the servers are met nothing is confirmed, and nobody is asked", async () => {
  const scene = await openScene(naming([], []));
  scene.servers = new Error("nobody asks");
  (await scene.names.prepare(naming(["mill"], [])))();
  assert.ok(scene.names.areConfirmed);
  assert.ok(!scene.names.holds("discord", "workspace", "mill", MILL.id));
  scene.servers = [MILL];
  await scene.meet();
  assert.ok(scene.names.holds("discord", "workspace", "mill", MILL.id));
});

test("where the platform does not say, new names hold nowhere, those of before go on, and the next try mends it", async () => {
  const scene = await openScene(naming(["mill"], []));
  const { names } = scene;
  await scene.meet();
  scene.servers = new Error("Discord is away");
  const next = naming(["mill"], ["river"]);
  (await names.prepare(next))();
  assert.ok(!names.areConfirmed);
  assert.match(scene.lines.join(), /Discord is away.*names_not_confirmed_yet/);
  assert.ok(names.holds("discord", "workspace", "mill", MILL.id));
  assert.ok(!names.holds("discord", "channel", "river", MILL.id));
  scene.servers = [MILL];
  (await names.prepare(next))();
  assert.ok(names.areConfirmed);
  assert.ok(names.holds("discord", "channel", "river", MILL.id));
});

test("Slack's names hold where they are, for its app is in one team alone", async () => {
  const { names } = await openScene(naming([], []));
  assert.ok(names.holds("slack", "channel", "river", "T1"));
});
