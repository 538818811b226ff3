import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test, type TestContext } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { NoteKeeper } from "../../../src/features/notes/note-keeper.ts";
import { NoteStore } from "../../../src/features/notes/note-store.ts";
import { NoteSweeper } from "../../../src/features/notes/note-sweeper.ts";
import { TurnNotes } from "../../../src/features/notes/turn-notes.ts";
import { agentId, turnId, type TurnId } from "../../../src/core/ids.ts";
import { type OpenStore, openStore, SILENT } from "../../store/open-store.ts";
import { createTestDatabase } from "../../support/database.ts";
import { until } from "../../support/patience.ts";

/** Fails when the line is in its file already, as a disc that fills up does. */
class FailingKeeper extends NoteKeeper {
  override async write(...written: Parameters<NoteKeeper["write"]>): Promise<void> {
    await super.write(...written);
    throw new Error("no space left");
  }
}

const AGENT = agentId("main");
const WISH = { kind: "memory", text: "zxqpine", replaces: null } as const;

/** A turn of the agent, and its notes in a folder of their own. */
async function openNotes(
  t: TestContext,
  open: OpenStore,
  { Keeper = NoteKeeper, lookUpWithinMs }: { Keeper?: typeof NoteKeeper; lookUpWithinMs?: number } = {},
) {
  const root = await mkdtemp(path.join(tmpdir(), "weir-turn-notes-"));
  t.after(async () => rm(root, { recursive: true, force: true }));
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
  const keeper = new Keeper({
    root,
    shownAs: "agents/main",
    today: () => "2026-11-24",
    onProblem: () => undefined,
  });
  const store = new NoteStore(open.db);
  const parts = {
    notes: store,
    owner: { channel, epoch },
    agent: { config: { id: AGENT } },
    lookUpWithinMs,
  };
  const file = path.join(root, keeper.fileOf("test-yard", "memory"));
  return { store, keeper, file, notes: new TurnNotes(parts, turnId(turn.id), keeper, ["test-yard"]) };
}

test("a line of which nobody knows whether it was written leaves its file", async (t) => {
  await using database = await createTestDatabase();
  await using open = openStore(database.connection);
  const { store, keeper, file, notes } = await openNotes(t, open, { Keeper: FailingKeeper });
  await notes.read();
  await assert.rejects(notes.write(WISH), /could not be written/);
  assert.match(await readFile(file, "utf8"), /zxqpine/);
  assert.deepEqual(await notes.read(), []);
  await using sweeper = new NoteSweeper(store, SILENT, () => new Map([[AGENT, keeper]]));
  sweeper.start();
  await until("file without the line", async () => (await readFile(file, "utf8")) === "");
});

test("a database that is slow for a moment keeps no note from being written", async (t) => {
  await using database = await createTestDatabase();
  await using open = openStore(database.connection);
  const { file, notes } = await openNotes(t, open, { lookUpWithinMs: 1 });
  const reading = await open.db.transaction(async (client) => {
    await client.query("", "lock table notes in access exclusive mode");
    const read = notes.read();
    const waiting =
      "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
    await until("read that waits", async () => (await open.sql(waiting)).length > 0);
    // Far longer than files are waited for.
    await delay(100);
    return { read };
  });
  await reading.read;
  assert.match(await notes.write(WISH), /Noted/);
  assert.match(await readFile(file, "utf8"), /zxqpine/);
});
