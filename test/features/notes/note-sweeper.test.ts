import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { NoteKeeper } from "../../../src/features/notes/note-keeper.ts";
import { NoteStore } from "../../../src/features/notes/note-store.ts";
import { NoteSweeper } from "../../../src/features/notes/note-sweeper.ts";
import { agentId } from "../../../src/core/ids.ts";
import { type OpenStore, openStore, SILENT } from "../../store/open-store.ts";
import { createTestDatabase } from "../../support/database.ts";
import { until } from "../../support/patience.ts";

const AGENT = agentId("main");

interface World {
  readonly open: OpenStore;
  readonly root: string;
  readonly keeper: NoteKeeper;
  /** A row whose line is to go. @returns its id */
  readonly gone: (file: string, days?: number) => Promise<number>;
}

async function world(t: TestContext): Promise<World> {
  const database = await createTestDatabase();
  t.after(async () => database[Symbol.asyncDispose]());
  const open = openStore(database.connection);
  t.after(async () => open[Symbol.asyncDispose]());
  const root = await mkdtemp(path.join(tmpdir(), "weir-gone-"));
  t.after(async () => rm(root, { recursive: true, force: true }));
  const keeper = new NoteKeeper({
    root,
    shownAs: "agents/main",
    today: () => "2026-11-24",
    onProblem: () => undefined,
  });
  const { id: channel } = await open.channel("yard");
  const seq = await open.say(channel, "hello");
  const [turn] = await open.sql<{ id: number }>(
    `insert into turns (channel_id, epoch, from_seq, to_seq, state, reason, settled_at)
     values ($1, 1, $2, $2, 'stopped', 'test', now()) returning id`,
    channel,
    seq,
  );
  return {
    open,
    root,
    keeper,
    async gone(file, days = 0) {
      const [row] = await open.sql<{ id: number }>(
        `insert into notes (channel_id, turn_id, agent, file, text, read_to, gone_at)
         values ($1, $2, 'main', $3, '', 1, now() - $4 * interval '1 day') returning id`,
        channel,
        turn?.id,
        file,
        days,
      );
      assert.ok(row !== undefined);
      return row.id;
    },
  };
}

/** A sweeper that polls. */
function sweeping({ open, keeper }: Pick<World, "open" | "keeper">): NoteSweeper {
  const sweeper = new NoteSweeper(new NoteStore(open.db), SILENT, () => new Map([[AGENT, keeper]]));
  sweeper.start();
  return sweeper;
}

async function write(root: string, file: string, text: string): Promise<void> {
  await mkdir(path.dirname(path.join(root, file)), { recursive: true });
  await writeFile(path.join(root, file), text);
}

async function untilEmpty(root: string, file: string): Promise<void> {
  await until("file without the line", async () => (await readFile(path.join(root, file), "utf8")) === "");
}

test("a file that cannot be written keeps no line in another file", async (t) => {
  const { open, root, keeper, gone } = await world(t);
  await mkdir(path.join(root, "channels/broken/MEMORY.md"), { recursive: true });
  await gone("channels/broken/MEMORY.md");
  const file = "channels/whole/MEMORY.md";
  await write(root, file, `- zxqpine <!-- note ${await gone(file)} -->\n`);
  await using _ = sweeping({ open, keeper });
  await untilEmpty(root, file);
});

test("however many lines are not there, those that are there go", async (t) => {
  const { open, root, keeper, gone } = await world(t);
  const first = await gone("channels/none/MEMORY.md");
  await open.sql(
    `insert into notes (channel_id, turn_id, agent, file, text, read_to, gone_at)
     select channel_id, turn_id, agent, file, text, read_to, gone_at from notes, generate_series(1, 1100) where id = $1`,
    first,
  );
  const file = "channels/whole/MEMORY.md";
  await write(root, file, `- zxqpine <!-- note ${await gone(file)} -->\n`);
  await using _ = sweeping({ open, keeper });
  await untilEmpty(root, file);
});

test("a line goes however long nobody could take it out, and only then is one forgotten that was in no file", async (t) => {
  const { open, root, keeper, gone } = await world(t);
  const file = "channels/whole/MEMORY.md";
  const there = await gone(file, 31);
  await write(root, file, `- zxqpine <!-- note ${there} -->\n`);
  await gone("channels/none/MEMORY.md", 31);
  const young = await gone("channels/none/MEMORY.md", 1);
  await using _ = sweeping({ open, keeper });
  await untilEmpty(root, file);
  await until("row less", async () => (await open.sql("select from notes")).length === 2);
  // It may be brought back: it is forgotten when it was looked for once more.
  assert.deepEqual(await open.sql("select id from notes order by id"), [{ id: there }, { id: young }]);
});

test("a line that an editor brings back is not shown, and goes again", async (t) => {
  const { open, root, keeper, gone } = await world(t);
  const file = keeper.fileOf("test-yard", "memory");
  const line = `- zxqpine <!-- note ${await gone(file)} -->\n`;
  await write(root, file, line);
  {
    await using _ = sweeping({ open, keeper });
    await untilEmpty(root, file);
  }
  // The buffer of somebody who had the file open.
  await write(root, file, line);
  const { id: channel } = await open.channel("yard");
  const look = await new NoteStore(open.db).look(channel, AGENT, [file]);
  assert.deepEqual(await keeper.read(["test-yard"], look.removed), []);
  await using _ = sweeping({ open, keeper });
  await untilEmpty(root, file);
});

test("a sweep that is asked for deletes lines also after the polls have ended", async (t) => {
  const { open, root, keeper, gone } = await world(t);
  const sweeper = sweeping({ open, keeper });
  await sweeper[Symbol.asyncDispose]();
  const file = keeper.fileOf("test-yard", "memory");
  await write(root, file, `- zxqpine <!-- note ${await gone(file)} -->\n`);
  await sweeper.sweep();
  assert.equal(await readFile(path.join(root, file), "utf8"), "");
});

test("what a killed daemon has left beside the files goes, and nothing else", async (t) => {
  const made = await world(t);
  const draft = (name: string): string => path.join("channels", "test-yard", `.${name}.${randomUUID()}`);
  const [left, day, fresh] = [draft("MEMORY.md"), draft("2026-11-24.md"), draft("MEMORY.md")];
  const dated = path.join(path.dirname(day), "memory", path.basename(day));
  const own = [path.join("channels", "test-yard", ".MEMORY.md.old"), ".SOUL.md.swp", fresh];
  for (const file of [left, dated, ...own]) await write(made.root, file, "the safe opens with zxqpine\n");
  const old = new Date(Date.now() - 3_600_000);
  for (const file of [left, dated, ...own.slice(0, 2)]) await utimes(path.join(made.root, file), old, old);
  const names = async (): Promise<string[]> => {
    const found = await readdir(made.root, { recursive: true, withFileTypes: true });
    return found.filter((one) => one.isFile()).map((one) => one.name);
  };
  await using sweeper = sweeping(made);
  while ((await names()).length > own.length) await delay(20);
  assert.deepEqual((await names()).toSorted(), own.map((file) => path.basename(file)).toSorted());
  // A request to forget somebody does not wait for the next look.
  await utimes(path.join(made.root, fresh), old, old);
  await sweeper.sweep();
  assert.deepEqual((await names()).toSorted(), [".MEMORY.md.old", ".SOUL.md.swp"]);
});
