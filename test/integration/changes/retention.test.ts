// proves: src/channel/retention.ts, src/compose/reload.ts, src/compose/channels.ts
// What is old enough and summarised goes, where the configuration says so.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChannelRow } from "../../../src/store/channels/channels.ts";
import { command } from "../../support/commands.ts";
import { checkFold, compactionConfig, listen, openScene, quiet, script } from "../../support/compaction.ts";
import { text } from "../../support/model-behaviours.ts";
import type { TestWeir } from "../../support/weir.ts";

const LINES = {
  window: 32_000,
  agent: "sees_images = true",
  compaction: "max_raw_messages = 10\nkeep_messages = 3",
};
const KEPT = "[retention]\nimage_days = 30\n";
const LATER = (): Date => new Date(Date.now() + 31 * 24 * 60 * 60 * 1000);

async function rowOf(weir: TestWeir, room: string): Promise<ChannelRow> {
  const row = await weir.daemon.store.channels.find({ platform: "test", name: room });
  assert.ok(row !== undefined);
  return row;
}

/** Says so many readings, and has what is due summarised. */
async function fill(weir: TestWeir, room: string, from: number, to: number): Promise<void> {
  for (let number = from; number <= to; number++) {
    await listen(weir, room, number, number);
    // It is loaded by itself only after some messages that nobody has to answer.
    await weir.daemon.registry.get((await rowOf(weir, room)).id);
    await quiet(weir, room);
  }
}

test("pictures go once a reload says so, of what is summarised; its text says that there was one, and can be deleted", async () => {
  await using scene = await openScene();
  const room = "seen";
  // All that is said here was said a month ago.
  await using weir = await scene.start(LINES, undefined, undefined, LATER);
  script(scene.server, () => text("The river rose at the mill."));
  const images = [{ name: "a.png", type: "image/png" as const, bytes: Buffer.from("picture") }];
  const said = { room, addressed: false, images };
  await weir.say("look [image a.png, 7 bytes]", { ...said, id: "first" });
  await fill(weir, room, 1, 30);
  await weir.say("look [image a.png, 7 bytes]", { ...said, id: "last" });
  const pictured = async (): Promise<string[]> => {
    const rows = await scene.open.sql<{ id: string }>("select message_id as id from images order by id");
    return rows.map(({ id }) => id);
  };
  // For ever is the default.
  await weir.daemon.retention.sweep();
  assert.deepEqual(await pictured(), ["first", "last"]);
  const reloaded = await weir.reload(compactionConfig({ ...LINES, top: KEPT }));
  assert.ok(
    reloaded.kind === "reloaded" && reloaded.live.includes("retention.image_days"),
    JSON.stringify(reloaded),
  );
  await weir.daemon.retention.sweep();
  assert.deepEqual(await pictured(), ["last"]);
  const { id } = await rowOf(weir, room);
  const read = async (): Promise<string | undefined> =>
    (await weir.daemon.store.log.readCurrent(id, 1, 1))[0]?.text;
  assert.equal(await read(), "look [image a.png, 7 bytes]");
  assert.match(await command(weir, room, "/export"), /look \[image a\.png, 7 bytes\]/);
  await checkFold(weir, room);
  await weir.daemon.inbox.receive({ type: "deletion", platform: "test", id: "first", at: new Date() });
  assert.equal(await read(), "");
  await quiet(weir, room);
  await checkFold(weir, room);
});
