// proves: src/channel/turns/result-images.ts, src/store/log/attachments.ts, migrations/baseline/05_images.sql
// A daemon that is killed between a tool's picture and the answer shows the same picture again, and calls nobody again.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { createTestDatabase } from "../support/database.ts";
import { openLoopbackWorld } from "../support/e2e-loopback.ts";
import { envOf, openMainHome } from "../support/e2e-main.ts";
import { PNG } from "../support/mcp/pictures.ts";
import { text, toolCalls } from "../support/model-behaviours.ts";
import { startModelServer } from "../support/model-server.ts";

const SERVER = path.join(import.meta.dirname, "../support/mcp/picture-server.ts");
const SHOWN = `data:image/png;base64,${PNG.toString("base64")}`;

test("killed between a tool's picture and the answer, it shows the picture again", async () => {
  await using model = await startModelServer();
  await using world = await openLoopbackWorld();
  await using database = await createTestDatabase();
  const agent = `sees_images = true
[[agents.mcp]]
name = "kit"
command = ${JSON.stringify(process.execPath)}
args = ${JSON.stringify([SERVER, "journal"])}
approve = "never"
`;
  await using home = await openMainHome(world.config, envOf(database.connection, model.url), agent);
  // The first request behind the result is answered by nobody.
  let isAnswered = false;
  model.respond(({ messages, tools }) => {
    if (tools?.some((tool) => tool.function.name === "kit__look") !== true) return text("not yet");
    if (messages.some(({ role }) => role === "tool")) return isAnswered ? text("a cat") : () => undefined;
    return toolCalls([{ name: "kit__look", arguments: { kind: "a cat" } }]);
  });
  const daemon = await home.start();
  await daemon.errorLine("mcp_server_open");
  await world.say("room", "first", "look");
  await model.received(2);
  await daemon.kill();
  isAnswered = true;

  await home.start();
  await world.untilAnswered();
  const [, shown, again] = model.requests;
  assert.equal(model.requests.length, 3);
  assert.ok(shown?.raw.includes(SHOWN) === true && again?.raw.includes(SHOWN) === true);
  assert.deepEqual(again.body.messages.slice(-3), shown.body.messages.slice(-3));
  assert.equal(await readFile(path.join(home.folder, "journal"), "utf8"), "a cat\n");
  await world.assertAnsweredOnce();
});
