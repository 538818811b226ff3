// proves: src/store/store.ts, src/features/wishes/candidates.ts, src/features/wishes/wish-store.ts, src/store/database/signing-key.ts, src/features/wishes/commands.ts, migrations/baseline/13_wishes.sql
// What people wish of how they are answered is learned by a compaction, shown to the model once two messages say so, and ended.
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { Retention } from "../../../src/channel/retention.ts";
import type { ChannelId } from "../../../src/core/ids.ts";
import type { Author } from "../../../src/core/message.ts";
import type { WishDraft } from "../../../src/features/wishes/wish.ts";
import { fileSigner } from "../../../src/store/database/signing-key.ts";
import { createTimeFormat } from "../../../src/text/time.ts";
import { signWishes } from "../../../src/features/wishes/wish-store.ts";
import type { Asker } from "../../../src/platforms/platform.ts";
import { ANN, authorOf, BEN, command } from "../../support/commands.ts";
import {
  agentRequests,
  ask,
  checkFold,
  compaction,
  openScene,
  quiet,
  reading,
  said,
  type Scene,
  script,
} from "../../support/compaction.ts";
import { createTestDatabase } from "../../support/database.ts";
import { BACKGROUND, fillTo } from "../../support/full-channel.ts";
import { text, toolCalls } from "../../support/model-behaviours.ts";
import { startModelServer } from "../../support/model-server.ts";
import { OWNED, OWNER } from "../../support/owners.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import { startWeir, type TestWeir } from "../../support/weir.ts";
import { openStore, SILENT } from "../../store/open-store.ts";

const SUMMARY = "Ann measures the river each morning; the readings are in the green book.";
const room = "es";
const CARLA: Asker = { id: "u-carla", name: "Carla", roles: [] };
const DORA: Asker = { id: "u-dora", name: "Dora", roles: [] };

/** What people say among their readings. */
const WORDS: Readonly<Record<number, readonly [text: string, by: Asker]>> = {
  4: ["please answer in Spanish here", ANN],
  5: ["and keep it under five lines for me", BEN],
  6: ["contesta en español, por favor", BEN],
  7: ["under five lines please, I read this on my phone", BEN],
  8: ["use bullet lists please", ANN],
};
const wish = (line: number, change: object = {}): object => ({
  wish: "Answer in Spanish.",
  topic: "language",
  for: "channel",
  quote: line === 4 ? "in Spanish" : "en español",
  sources: [line],
  ...change,
});
const five = {
  wish: "Keep it under five lines.",
  topic: "length",
  for: "speaker",
  quote: "under five lines",
};
/** Two that are said twice, one that is said once, and one that asks for more than a manner. */
const saves = toolCalls([
  {
    name: "memory_save",
    arguments: {
      memories: [],
      wishes: [
        wish(4),
        wish(6),
        wish(5, five),
        wish(7, five),
        wish(8, { wish: "Use bullet lists.", topic: "format", quote: "bullet lists" }),
        wish(8, { wish: "Send bullet lists by email.", topic: "format", quote: "bullet lists" }),
      ],
    },
  },
]);

interface World {
  readonly scene: Scene;
  readonly weir: TestWeir;
  readonly folder: string;
  /** Starts another daemon in the place of this one. */
  readonly again: () => Promise<TestWeir>;
}

const dataDirIn = (folder: string): string => `[database]\ndata_dir = ${JSON.stringify(folder)}`;

/** What was recalled quotes what people said, also of wishes that have ended. */
function withoutRecalled(dynamic = ""): string {
  return dynamic.split("\nRecalled from")[0] ?? "";
}

/** A channel in which that was said, once a compaction has covered it. */
async function learn(use: (world: World) => Promise<void>): Promise<void> {
  await using scene = await openScene();
  const folder = await mkdtemp(path.join(tmpdir(), "weir-learned-"));
  try {
    script(scene.server, (_, index) => (index === 0 ? saves : text(SUMMARY)));
    const words = (number: number): string => WORDS[number]?.[0] ?? reading(number);
    const author = (number: number): Author => authorOf(WORDS[number]?.[1] ?? ANN);
    await fillTo(scene, room, BACKGROUND, {}, words, author);
    const lines = { top: dataDirIn(folder) };
    let weir = await scene.start(lines);
    try {
      await ask(weir, scene.server, room, "are you there?");
      await compaction(weir, room, "committed");
      await quiet(weir, room);
      const again = async (): Promise<TestWeir> => {
        await weir[Symbol.asyncDispose]();
        weir = await scene.start(lines);
        return weir;
      };
      await use({ scene, weir, folder, again });
    } finally {
      await weir[Symbol.asyncDispose]();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

let asked = 0;

/** The dynamic part of the request of somebody's next turn. */
async function dynamicFor({ scene }: World, weir: TestWeir, asker: Asker): Promise<string> {
  const before = agentRequests(scene.server).length;
  await weir.say("how is the river?", { room, author: authorOf(asker), id: `learned-asked-${++asked}` });
  while (agentRequests(scene.server).length === before) await new Promise((done) => setTimeout(done, 5));
  await quiet(weir, room);
  return withoutRecalled(said(agentRequests(scene.server).at(-1)).at(-1));
}

const SPANISH = /\n> Answer in Spanish\. \(asked for by "Ann", "Ben"\)\n/;
const FIVE_LINES = /\n> Keep it under five lines\. \(only for "Ben"\)\n/;

test("what two messages wish is shown to the model, to the person whom it is for, and in /context", async () => {
  await learn(async (world) => {
    const { scene, weir, folder } = world;
    const rejected = await scene.open.sql("select reason, count from memory_rejections");
    assert.deepEqual(rejected, [{ reason: "wish", count: 1 }]);
    const forCarla = await dynamicFor(world, weir, CARLA);
    assert.match(forCarla, SPANISH);
    assert.doesNotMatch(forCarla, FIVE_LINES);
    assert.doesNotMatch(forCarla, /bullet lists/);
    const forBen = await dynamicFor(world, weir, BEN);
    assert.match(forBen, SPANISH);
    assert.match(forBen, FIVE_LINES);
    assert.match(await command(weir, room, "context list", BEN), /learned +\d+ tokens/);
    assert.match(await command(weir, room, "context detail learned", BEN), /Answer in Spanish\./);
    const { mode } = await stat(path.join(folder, "signing.key"));
    assert.equal(mode & 0o777, 0o600);
    await checkFold(weir, room);
    const after = await world.again();
    assert.match(await dynamicFor(world, after, BEN), FIVE_LINES, "also once it is loaded anew");
  });
});

test("/learned shows them, and /forget ends one for all by an owner, as everybody is there", async () => {
  await learn(async (world) => {
    const { weir, scene } = world;
    const list = await command(weir, room, "learned", CARLA);
    assert.match(
      list,
      /- L1 Answer in Spanish\.\n {2}used from the next answer on · language, for everybody here · 2 messages, score 1\.00\n/,
    );
    assert.match(list, /\n {2}Ben, \d{4}-\d\d-\d\d: "en español"/);
    assert.match(
      list,
      /- L3 Keep it under five lines\.\n {2}used from the next answer on · length, for Ben alone/,
    );
    assert.match(list, /- L5 Use bullet lists\.\n {2}watched, not used yet/);
    await dynamicFor(world, weir, CARLA);
    assert.match(await command(weir, room, "learned", CARLA), /- L1 Answer in Spanish\.\n {2}in use/);
    assert.match(await command(weir, room, "forget L99", CARLA), /^There is no L99 in this channel\./);
    assert.match(await command(weir, room, "forget l3", BEN), /^Ended: L3, "Keep it under five lines\."/);
    assert.match(await command(weir, room, "forget L1", ANN), /^Ended: L1/);
    assert.doesNotMatch(await dynamicFor(world, weir, BEN), /Spanish|five lines/);
    assert.deepEqual(await scene.open.sql("select wish from wishes"), [{ wish: "Use bullet lists." }]);
    await checkFold(weir, room);
  });
});

test("a thread is answered as its channel has wished, until that ends, and knows it is the channel's", async () => {
  await learn(async (world) => {
    const { scene, weir } = world;
    const place = { workspace: "w", channel: "a thread", parent: { id: room, name: room } };
    const threadDynamic = async (): Promise<string> => {
      const before = agentRequests(scene.server).length;
      const id = `learned-thread-${++asked}`;
      await weir.say("and in here?", { room: "thread", kind: "thread", place, author: authorOf(BEN), id });
      while (agentRequests(scene.server).length === before) await new Promise((done) => setTimeout(done, 5));
      await quiet(weir, "thread");
      return withoutRecalled(said(agentRequests(scene.server).at(-1)).at(-1));
    };
    const first = await threadDynamic();
    assert.match(first, SPANISH);
    assert.match(first, FIVE_LINES);
    await checkFold(weir, "thread");
    assert.match(await command(weir, "thread", "learned", BEN), /- L1 Answer in Spanish\./);
    // Of the channel's log nobody tells the thread.
    await weir.daemon.inbox.receive({ type: "deletion", platform: "test", id: `${room}-6`, at: new Date() });
    const second = await threadDynamic();
    assert.doesNotMatch(second, /Spanish/);
    assert.match(second, FIVE_LINES);
    assert.match(await command(weir, room, "forget L3", BEN), /^Ended: L3/);
    assert.doesNotMatch(await threadDynamic(), /five lines/);
    assert.match(await command(weir, "thread", "forget L1", ANN), /^Ended: L1/, "from the thread, too");
    assert.doesNotMatch(await command(weir, room, "learned", ANN), /L1 /);
  });
});

for (const [what, change] of Object.entries({
  "a deletion": { type: "deletion" },
  "an edit": { type: "edit", text: "never mind" },
} as const))
  test(`${what} of a message takes its weight: one that is left is watched again`, async () => {
    await learn(async (world) => {
      const { weir } = world;
      assert.match(await dynamicFor(world, weir, BEN), SPANISH);
      await weir.daemon.inbox.receive({ platform: "test", id: `${room}-6`, at: new Date(), ...change });
      const left = await dynamicFor(world, weir, BEN);
      assert.doesNotMatch(left, /Spanish/);
      assert.match(left, FIVE_LINES);
      assert.match(
        await command(weir, room, "learned", BEN),
        /- L1 Answer in Spanish\.\n {2}watched, not used yet/,
      );
      await checkFold(weir, room);
    });
  });

test("a row that somebody has changed is not used, and owners and the log are told", async () => {
  await learn(async (world) => {
    const { scene, again } = world;
    await scene.open.sql("update wishes set wish = 'Answer in Klingon.' where wish = 'Answer in Spanish.'");
    await scene.open.sql("update wishes set person = null where topic = 'length'");
    const weir = await again();
    const shown = await dynamicFor(world, weir, CARLA);
    assert.doesNotMatch(shown, /Klingon|five lines/);
    const told = await command(weir, room, "learned", OWNER);
    assert.match(
      told,
      /\nNot used: 4 rows of wishes \(1, 2, 3, 4\), changed in the database by somebody else\./,
    );
    assert.ok(!told.includes("Klingon"));
  });
});

test("what was signed under another key is not used, and a file that is no key is not taken for one", async () => {
  await learn(async (world) => {
    const { folder, again } = world;
    const file = path.join(folder, "signing.key");
    const key = await readFile(file, "utf8");
    await writeFile(file, `${"0".repeat(64)}\n`);
    const other = await again();
    assert.doesNotMatch(await dynamicFor(world, other, BEN), /Spanish/);
    assert.match(
      await command(other, room, "learned", OWNER),
      /5 rows .*, signed under another key than this Weir has/,
    );
    await writeFile(file, "no key");
    const none = await again();
    assert.doesNotMatch(await dynamicFor(world, none, BEN), /Spanish/);
    assert.match(
      await command(none, room, "learned", OWNER),
      /5 rows .*the key in the data folder cannot be read/,
    );
    await writeFile(file, key);
    assert.match(await dynamicFor(world, await again(), BEN), SPANISH);
  });
});

test("among several people an owner ends it for all, and anybody for themselves; owners alone are told of rows that are not used", async () => {
  await using database = await createTestDatabase();
  await using open = openStore(database.connection);
  await using server = await startModelServer();
  const folder = await mkdtemp(path.join(tmpdir(), "weir-learned-"));
  await using weir = await startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: `${dataDirIn(folder)}\n${OWNED}\n[[agents]]\nid = "main"\nmodel = "test-model"\n`,
    platform: new TestPlatform({ serves: () => true }),
  });
  const channel = { platform: "discord", name: "es" };
  const drafts: WishDraft[] = [];
  for (const [index, by] of [ANN, BEN, ANN, ANN].entries()) {
    const author = authorOf(by);
    await weir.say("in Spanish please", { channel, room: "es", workspace: "w", author, addressed: false });
    const at = new Date().toISOString();
    const spanish = { topic: "language", wish: "Answer in Spanish.", quote: "in Spanish" } as const;
    const brief = { topic: "length", wish: "Be brief.", quote: "in Spanish" } as const;
    const what = index < 2 ? { person: null, ...spanish } : { person: ANN.id, ...brief };
    drafts.push({ seq: index + 1, act: "want", asker: by.id, ...what, at });
  }
  const row = await weir.daemon.store.channels.find(channel);
  assert.ok(row !== undefined);
  const signer = fileSigner(folder);
  const signed = await signWishes(open.db, row.id, drafts, { signer, onUnsigned: assert.fail });
  for (const { seq, agent, act, topic, person, asker, wish: words, quote, at, keyId, signature } of signed)
    await open.sql(
      `insert into wishes (channel_id, seq, agent, act, topic, person, asker, wish, quote, at, key_id, signature)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
      row.id,
      seq,
      agent,
      act,
      topic,
      person,
      asker,
      words,
      quote,
      at,
      keyId,
      signature,
    );
  const asks = async (typed: string, asker: Asker) => command(weir, "es", typed, asker, "discord");
  const refused = /^Only whoever asked for it \(Ann\) or an owner may end L3\. Whoever runs Weir names them/;
  assert.match(await asks("forget L3", BEN), refused);
  assert.match(await asks("forget L1", CARLA), /^Ended for you: L1, .* An owner may end it for all\.$/);
  assert.match(await asks("learned", CARLA), /L1 .*\n.* · ended for you\n/);
  assert.doesNotMatch(await asks("learned", DORA), /ended for you/);
  assert.match(await asks("forget L1 me", OWNER), /^Ended for you: .* \/forget L1 ends it for all\.$/);
  assert.match(await asks("learned", DORA), /L1 .*\n {2}used from the next answer on · .* 2 messages/);
  assert.match(await asks("forget L1", BEN), /^Ended for you: L1/);
  assert.match(
    await asks("learned", DORA),
    /L1 .*\n {2}watched, not used yet/,
    "one of two asks for it no more",
  );
  assert.deepEqual(await open.sql("select id from wishes order by id"), [{ id: 1 }, { id: 3 }, { id: 4 }]);
  await open.sql("update wishes set quote = 'en español' where id = 4");
  assert.match(await asks("learned", OWNER), /Not used: 1 row of wishes \(4\), changed in the database/);
  assert.doesNotMatch(await asks("learned", BEN), /Not used/);
  assert.match(await asks("forget L1", OWNER), /^Ended: L1/);
  assert.deepEqual(await open.sql("select id from wishes order by id"), [{ id: 3 }, { id: 4 }]);
  assert.deepEqual(await open.sql("select from wish_refusals"), []);
  await rm(folder, { recursive: true, force: true });
});

test("/learned shows what is in use, however much else somebody wishes for", async () => {
  await learn(async (world) => {
    const { scene, folder, weir } = world;
    const [row] = await scene.open.sql<{ id: ChannelId }>("select id from channels where name = $1", room);
    assert.ok(row !== undefined);
    const drafts = Array.from({ length: 30 }, (_, index): WishDraft => {
      const rest = {
        quote: "bullet lists",
        at: new Date().toISOString(),
        wish: `Answer w${index}x v${index}y.`,
      };
      return { seq: 8, act: "want", topic: "tone", person: null, asker: ANN.id, ...rest };
    });
    const signing = { signer: fileSigner(folder), onUnsigned: (why: string) => assert.fail(why) };
    const signed = await signWishes(scene.open.db, row.id, drafts, signing);
    await scene.open.sql(
      `insert into wishes (channel_id, seq, agent, act, topic, person, asker, wish, quote, at, key_id, signature)
       select $1, w.seq, w.agent, w.act, w.topic, w.person, w.asker, w.wish, w.quote, w.at, w."keyId", w.signature
         from jsonb_to_recordset($2) w (seq bigint, agent text, act text, topic text, person text, asker text, wish text, quote text,
                                        at timestamptz, "keyId" text, signature text)`,
      row.id,
      JSON.stringify(signed),
    );
    const told = await command(weir, room, "learned", CARLA);
    assert.match(told, /- L1 Answer in Spanish\./);
    assert.match(told, / w29x v29y\./);
    assert.equal(told.match(/^- L/gm)?.length, 20);
    const [list] = await weir.daemon.features.channelLists(row.id, createTimeFormat("UTC"));
    assert.equal(list?.label, "Learned of how to answer");
    for (const line of list.lines) assert.ok(told.includes(`- ${line}`), "an operator reads the same");
    assert.equal(list.lines.length, 20);
  });
});

/** All that is summarised and answered loses its texts for its age. */
async function expireTexts({ daemon }: TestWeir): Promise<void> {
  const now = (): Date => new Date(Date.now() + 7 * 24 * 60 * 60 * 1000);
  const parts = { store: daemon.store.retention, now, log: SILENT };
  await using retention = new Retention(parts, { textDays: 1, imageDays: 0 });
  await retention.sweep();
}

test("answers that whom it is for marks as bad ones count once they are covered, and no more once that is taken back", async () => {
  await learn(async (world) => {
    const { weir } = world;
    const marked: string[] = [];
    for (let number = 1; number <= 3; number++) {
      await dynamicFor(world, weir, BEN);
      await weir.event("reply_delivered", () => weir.platform.calls.length >= number + 1);
      const replyTo = weir.platform.calls.at(-1)?.messageId;
      assert.ok(replyTo != null);
      marked.push(replyTo);
      for (const who of [BEN, CARLA]) {
        const id = `reaction/${replyTo}/${who.id}/👎`;
        await weir.say("reacted with 👎", { room, addressed: false, replyTo, id, author: authorOf(who) });
      }
    }
    const listed = async (): Promise<string> =>
      /- L3 .*\n.*\n/.exec(await command(weir, room, "learned", BEN))?.[0] ?? "";
    assert.doesNotMatch(await listed(), /rejected/, "no summary covers them");
    for (let number = 100; !(await listed()).includes("3 answers rejected") && number < 250; number++) {
      await weir.say(reading(number), { room, addressed: false });
      await quiet(weir, room);
    }
    assert.match(
      await listed(),
      /watched, not used yet .*for Ben alone .* 2 messages, score 0\.67, 3 answers rejected/,
    );
    assert.match(
      await command(weir, room, "learned", BEN),
      /- L1 .*\n.*in use .*2 messages, score 0\.75, answers rejected by 2 people\n/,
    );
    assert.doesNotMatch(await dynamicFor(world, weir, BEN), FIVE_LINES);
    await checkFold(weir, room);
    await expireTexts(weir);
    assert.match(await listed(), /3 answers rejected/, "also where the text of the mark is no longer kept");
    for (const messageId of marked)
      await weir.daemon.inbox.receive({
        type: "deletion",
        platform: "test",
        id: "",
        reactions: { messageId, person: BEN.id },
        at: new Date(Date.now() + 1000),
      });
    assert.match(await dynamicFor(world, weir, BEN), FIVE_LINES);
    await checkFold(weir, room);
  });
});
