// proves: src/channel/retention.ts, src/store/deletion/retention.ts, src/store/deletion/edits.ts, src/compactor/job-runner.ts, src/store/deletion/carriers/summaries.ts
// What is old enough and summarised loses its text; what was made of it stays.
import assert from "node:assert/strict";
import { test } from "node:test";
import { redoCompaction } from "../../../src/admin/requests/compact-answer.ts";
import { NOT_KEPT } from "../../../src/core/entry.ts";
import type { ChannelRow } from "../../../src/store/channels/channels.ts";
import { command } from "../../support/commands.ts";
import {
  checkFold,
  compactionConfig,
  compactions,
  listen,
  marks,
  openScene,
  quiet,
  type Scene,
  script,
} from "../../support/compaction.ts";
import { text, toolCalls } from "../../support/model-behaviours.ts";
import type { TestWeir } from "../../support/weir.ts";
import { rowsWith } from "../../store/rows-with.ts";

const LINES = {
  window: 32_000,
  agent: "sees_images = true",
  compaction: "max_raw_messages = 10\nkeep_messages = 3",
};
const KEPT = "[retention]\ntext_days = 30\nimage_days = 30\n";
const LATER = (): Date => new Date(Date.now() + 31 * 24 * 60 * 60 * 1000);

/** The daemon for which all that is said here was said a month ago. */
async function startLater(scene: Scene, top = KEPT): Promise<TestWeir> {
  return scene.start({ ...LINES, top }, undefined, undefined, LATER);
}

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

async function askAboutMill(weir: TestWeir, scene: Scene, room: string): Promise<void> {
  const { server } = scene;
  script(
    server,
    () => text("The river rose at the mill."),
    ({ messages }) =>
      messages.some(({ role }) => role === "tool")
        ? text("the wheel turns at dawn")
        : toolCalls([{ name: "search_history", arguments: { query: "quernstone" } }]),
  );
  await weir.say("who owns the quernstone?", { room, id: "asked" });
  await weir.event("turn_settled", ({ inReplyTo }) => inReplyTo.includes("asked"));
  script(
    server,
    () => text("The river rose at the mill."),
    () => text("noted"),
  );
}

test("texts that are old and summarised go, with what models have called for them; summaries, memories and the newer rest stay", async () => {
  await using scene = await openScene();
  const room = "old";
  {
    await using weir = await scene.start(LINES);
    script(scene.server, () => text("The river rose at the mill."));
    await weir.say("the quernstone is Ruperts", { room, addressed: false, id: "rupert" });
    await askAboutMill(weir, scene, room);
    assert.match(
      await command(weir, room, "/remember the sluice key hangs behind the door"),
      /Remembered|remember/i,
    );
    await fill(weir, room, 1, 30);
    // For ever is the default.
    await weir.daemon.retention.sweep();
    assert.ok((await rowsWith(scene.open, "quernstone")).length > 0);
  }
  // Before the daemon starts, which looks at once for what is old.
  await scene.open.sql(
    "insert into entry_vectors (channel_id, seq, bits) select id, 1, '101' from channels on conflict do nothing",
  );
  await using weir = await startLater(scene);
  const row = await rowOf(weir, room);
  await weir.daemon.retention.sweep();
  await weir.daemon.registry.get(row.id);

  const entries = await weir.daemon.store.log.readCurrent(row.id, 1, row.lastSeq);
  const { coveredTo } = await rowOf(weir, room);
  assert.ok(coveredTo > 8);
  const covered = entries.filter(({ seq }) => seq <= coveredTo);
  assert.ok(
    covered.every((one) => one.expired === true),
    JSON.stringify(covered.find((one) => one.expired !== true)),
  );
  const [first] = entries;
  assert.ok(first?.kind === "user");
  assert.equal(first.text, NOT_KEPT);
  assert.equal(first.author.name, "Ann");
  assert.equal(first.deleted, false);
  const calls = covered.flatMap((one) => (one.kind === "tool_call" ? one.calls : []));
  assert.deepEqual(
    calls.map(({ name, arguments: json }) => [name, json]),
    [["search_history", "{}"]],
  );
  // What is in the view is as it was.
  assert.ok(
    entries.filter(({ seq }) => seq > coveredTo).every(({ text: said }) => said !== NOT_KEPT && said !== ""),
  );
  assert.deepEqual(await rowsWith(scene.open, "quernstone"), []);
  assert.deepEqual(await rowsWith(scene.open, "turns at dawn"), []);
  assert.deepEqual(await scene.open.sql("select from entry_search where seq <= $1", coveredTo), []);
  assert.deepEqual(await scene.open.sql("select from entry_vectors where seq = 1"), []);
  assert.match(await command(weir, room, "/memory"), /sluice key hangs behind the door/);
  assert.deepEqual(await rowsWith(scene.open, "sluice key"), ["memories", "memory_sources"]);
  assert.ok((await rowsWith(scene.open, "river rose at the mill")).includes("summaries"));
  assert.match(await command(weir, room, "/export"), /\*\*Ann\*\*, .*\n\n\(text no longer kept\)/);
  await checkFold(weir, room);
  // Nothing more is taken, and what is written beside goes on.
  await weir.daemon.retention.sweep();
  await fill(weir, room, 31, 34);
  await checkFold(weir, room);
});

test("a summary without its texts is not written again; a merge is made of what is summarised", async () => {
  await using scene = await openScene();
  const room = "again";
  await using weir = await startLater(scene);
  script(scene.server, ({ messages }) => {
    const told = marks(messages.flatMap(({ content }) => content ?? [])).map((number) => `gauge-${number}`);
    return text(`The river rose: ${told.slice(0, 3).join(", ")}.`);
  });
  await fill(weir, room, 1, 22);
  assert.ok(compactions(weir, room, "committed").every(({ kind }) => kind === "leaf"));
  await weir.daemon.retention.sweep();
  const row = await rowOf(weir, room);
  const [first] = compactions(weir, room, "committed");
  assert.ok(first !== undefined);
  const actor = await weir.daemon.registry.get(row.id);
  const job = (await weir.daemon.store.compactions.list(row.id, 100)).find(
    ({ summary }) => summary?.live === true,
  );
  assert.ok(job !== undefined);
  assert.deepEqual(await redoCompaction(actor.compactor, weir.daemon.store, row.id, job.id), {
    kind: "nothing",
    reason: "texts of its messages are no longer kept, so it stays as it is",
  });
  // Merges come when there are eight, of which the newest are of texts that are kept.
  for (let number = 23; compactions(weir, room, "committed").every(({ kind }) => kind !== "merge"); number++)
    await fill(weir, room, number, number);
  const { history } = await weir.daemon.store.load(row.id);
  const merged = history.summaries.find(({ level }) => level > 1);
  assert.match(merged?.text ?? "", /gauge-1,/, "what was said first is told by the summaries");
  await checkFold(weir, room);
});

test("a message whose text has gone can be taken back, and edited: what rests on it goes", async () => {
  await using scene = await openScene();
  const room = "back";
  script(scene.server, () => text("The river rose at the mill."));
  {
    await using weir = await scene.start(LINES);
    await weir.say("hello", { room, addressed: false });
    await command(weir, room, "/remember the sluice key hangs behind the door");
    await weir.say("the quernstone is Ruperts", { room, addressed: false, id: "rupert" });
    await fill(weir, room, 1, 40);
  }
  await using weir = await startLater(scene);
  await weir.daemon.retention.sweep();
  const row = await rowOf(weir, room);
  const at = new Date();
  const { inbox } = weir.daemon;
  // A catch-up tells again what is known.
  const edit = { type: "edit", platform: "test", id: "rupert", text: "it is mine" } as const;
  await inbox.receive({ ...edit, at: new Date(Date.now() - 60_000) });
  const read = async (id: string): Promise<unknown> => {
    const entries = await weir.daemon.store.log.readCurrent(row.id, 1, row.lastSeq);
    const found = entries.find((one) => one.kind === "user" && one.messageId === id);
    return found === undefined ? undefined : [found.deleted, found.text];
  };
  assert.deepEqual(await read("rupert"), [false, NOT_KEPT]);
  await inbox.receive({ ...edit, at });
  assert.deepEqual(await read("rupert"), [true, ""]);
  assert.deepEqual(await rowsWith(scene.open, "is mine"), []);
  const [said] = await scene.open.sql<{ id: string }>("select message_id as id from entries where seq = 2");
  assert.match(await command(weir, room, "/memory"), /sluice/);
  await inbox.receive({ type: "deletion", platform: "test", id: said?.id ?? "", at });
  assert.doesNotMatch(await command(weir, room, "/memory"), /sluice/);
  await quiet(weir, room);
  await checkFold(weir, room);
});

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
  const reloaded = await weir.reload(
    compactionConfig({ ...LINES, top: KEPT.replace("text_days = 30", "text_days = 0") }),
  );
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
