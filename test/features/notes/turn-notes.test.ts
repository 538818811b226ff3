import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { NoteKeeper } from "../../../src/features/notes/note-keeper.ts";
import { NoteStore } from "../../../src/features/notes/note-store.ts";
import { NoteSweeper } from "../../../src/features/notes/note-sweeper.ts";
import { TurnNotes } from "../../../src/features/notes/turn-notes.ts";
import { agentId, turnId, type TurnId } from "../../../src/core/ids.ts";
import { openStore, SILENT } from "../../store/open-store.ts";
import { createTestDatabase } from "../../support/database.ts";
import { until } from "../../support/patience.ts";

/** Fails when the line is in its file already, as a disc that fills up does. */
class FailingKeeper extends NoteKeeper {
  override async write(...written: Parameters<NoteKeeper["write"]>): Promise<void> {
    await super.write(...written);
    throw new Error("no space left");
  }
}

test("a line of which nobody knows whether it was written leaves its file", async (t) => {
  await using database = await createTestDatabase();
  await using open = openStore(database.connection);
  const root = await mkdtemp(path.join(tmpdir(), "weir-turn-notes-"));
  t.after(async () => rm(root, { recursive: true, force: true }));
  const agent = agentId("main");
  const { id: channel, epoch } = await open.channel("yard");
  const seq = await open.say(channel, "hello");
  const [turn] = await open.sql<{ id: TurnId }>(
    `insert into turns (channel_id, epoch, from_seq, to_seq, state, reason, settled_at)
     values ($1, $2, $3, $3, 'stopped', 'test', now()) returning id`,
    channel,
    epoch,
    seq,
  );
  assert.ok(turn !== undefined);
  const keeper = new FailingKeeper({
    root,
    shownAs: "agents/main",
    today: () => "2026-11-24",
    onProblem: () => undefined,
  });
  const store = new NoteStore(open.db);
  const parts = { notes: store, owner: { channel, epoch }, agent: { config: { id: agent } } };
  const notes = new TurnNotes(parts, turnId(turn.id), keeper, ["test-yard"]);
  await notes.read();
  const wish = { kind: "memory", text: "zxqpine", replaces: null } as const;
  await assert.rejects(notes.write(wish), /could not be written/);
  const file = path.join(root, keeper.fileOf("test-yard", "memory"));
  assert.match(await readFile(file, "utf8"), /zxqpine/);
  assert.deepEqual(await notes.read(), []);
  await using sweeper = new NoteSweeper(store, SILENT, () => new Map([[agent, keeper]]));
  sweeper.start();
  await until("file without the line", async () => (await readFile(file, "utf8")) === "");
});
