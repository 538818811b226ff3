// proves: src/features/wishes/learned-rows.ts, src/store/database/signing-key.ts, migrations/baseline/13_wishes.sql
import assert from "node:assert/strict";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import type { JobPlan } from "../../../src/core/compaction.ts";
import type { ChannelId } from "../../../src/core/ids.ts";
import type { InboundMessage } from "../../../src/core/message.ts";
import { pino } from "pino";
import { type Learned, NOTHING_LEARNED } from "../../../src/core/learned.ts";
import { type Wish, type WishDraft, WISH_LIST } from "../../../src/features/wishes/wish.ts";
import { fileSigner } from "../../../src/store/database/signing-key.ts";
import { LearnedWishes } from "../../../src/features/wishes/learned-rows.ts";
import { WishStore } from "../../../src/features/wishes/wish-store.ts";
import { createStore, type Store } from "../../../src/store/store.ts";
import { createTestDatabase } from "../../support/database.ts";
import { openStore } from "../../store/open-store.ts";
import { FEATURE_ROWS } from "../../../src/features/stored.ts";

const database = await createTestDatabase();
const open = openStore(database.connection);
const folder = await mkdtemp(path.join(tmpdir(), "weir-wishes-"));
after(async () => {
  await open[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});
const dataDir = path.join(folder, "data");
const store = createStore(open.db, FEATURE_ROWS, { signer: fileSigner(dataDir) });
const rows = new WishStore(open.db, fileSigner(dataDir));

function wishesOf({ learned }: { readonly learned: Learned }): readonly Wish[] {
  return learned instanceof LearnedWishes ? learned.wishes : [];
}

/** A log whose lines can be read. */
class Logged {
  readonly lines: { readonly msg: string; readonly why: string }[] = [];
  readonly log = pino({ level: "warn" }, { write: (line) => void this.lines.push(JSON.parse(line)) });
}

const digester = {
  ofEntries: async () => Promise.resolve({ text: "…", tokens: 1 }),
  ofTexts: async () => Promise.resolve({ text: "…", tokens: 1 }),
};

const wishAt = (seq: number): WishDraft => ({
  seq,
  act: "want",
  topic: "language",
  person: null,
  asker: "u-ann",
  wish: "Answer in Spanish.",
  quote: "in Spanish",
  at: "2026-11-21T12:00:00.000Z",
});
let count = 0;

interface Place {
  readonly id: ChannelId;
  /** Takes a wish of each of the three messages into a job's result, and commits it. */
  readonly commit: (between?: () => Promise<unknown>, by?: Store, isAhead?: boolean) => Promise<string>;
}

/** A channel of three messages, `NAME-1` to `NAME-3`. @param last what the third one is instead */
async function place(last: Partial<InboundMessage> = {}): Promise<Place & { readonly name: string }> {
  const name = `wishes-${++count}`;
  const { id, epoch } = await open.channel(name);
  for (const number of [1, 2, 3])
    await open.say(id, "answer in Spanish please", {
      id: `${name}-${number}`,
      ...(number === 3 && last),
    });
  const plan: JobPlan = {
    kind: "leaf",
    tier: "background",
    fromSeq: 1,
    toSeq: 3,
    level: 1,
    sourceTokens: 90,
  };
  const summary = { kind: "model", text: "They spoke.", tokens: 5, model: "m" } as const;
  return {
    id,
    name,
    async commit(between = async () => Promise.resolve(), by = store, isAhead = false) {
      const job = await by.jobs.begin({ channel: id, epoch }, { ...plan, isAhead });
      const staged = { parts: [], memories: [], learned: { [WISH_LIST]: [1, 2, 3].map(wishAt) }, summary };
      assert.ok(await by.jobs.stage(job, staged));
      await between();
      if (!isAhead) return by.jobs.commit(job);
      return (await by.jobs.commitAhead({ channel: id, epoch })).length === 1 ? "committed" : "gone";
    },
  };
}

const seqsOf = async (channel: ChannelId): Promise<number[]> =>
  wishesOf((await store.load(channel)).history).map(({ seq }) => seq);

test("wishes come with their summary, at once or written ahead, and are read with the history", async () => {
  for (const isAhead of [false, true]) {
    const { id, commit } = await place();
    assert.equal(await commit(undefined, store, isAhead), "committed");
    assert.deepEqual(await seqsOf(id), [1, 2, 3]);
    const wishes = wishesOf(await store.coverage(id));
    assert.deepEqual(wishes[0], {
      ...wishAt(1),
      id: wishes[0]?.id,
      message: wishes[0]?.message,
      refusals: [],
      channel: id,
      at: new Date(wishAt(1).at),
      askerName: "Ann",
      learnedAt: wishes[0]?.learnedAt,
    });
    assert.deepEqual(await open.sql("select from jobs where channel_id = $1 and result is not null", id), []);
  }
});

test("an answer counts as a bad one where it was given, by the marks of that place alone", async () => {
  const answer = "wishes-answer";
  const mark = (person: string): Partial<InboundMessage> => ({
    id: `reaction/${answer}/${person}/👎`,
    replyTo: answer,
    text: "reacted with 👎",
    author: { id: person, name: person, isBot: false },
  });
  const [here, there] = [await place(mark("u-ann")), await place(mark("u-ben"))];
  for (const { commit } of [here, there]) assert.equal(await commit(), "committed");
  await open.sql(
    `with turn as (insert into turns (channel_id, epoch, from_seq, to_seq, state, settled_at)
                   select id, epoch, 1, 1, 'answered', now() from channels where id = $1 returning *)
     insert into deliveries (channel_id, turn_id, part, epoch, entry_seq, idempotency_key, message_id, state, ended_at)
     select channel_id, id, 0, epoch, 1, 'wishes-key', $2, 'sent', now() from turn`,
    here.id,
    answer,
  );
  const marked = async (channel: ChannelId): Promise<string[]> =>
    (await rows.of(channel)).rejections.map(({ person }) => person);
  assert.deepEqual(await marked(here.id), ["u-ann"]);
  assert.deepEqual(await marked(there.id), []);
});

test("a job that is begun again has the wishes that it had saved", async () => {
  const { id, epoch } = await open.channel("wishes-again");
  await open.say(id, "answer in Spanish please");
  const owner = { channel: id, epoch };
  const job = await store.jobs.begin(owner, {
    kind: "leaf",
    tier: "background",
    fromSeq: 1,
    toSeq: 1,
    level: 1,
    sourceTokens: 30,
  });
  const result = { parts: [], memories: [], learned: { [WISH_LIST]: [wishAt(1)] }, summary: null };
  assert.ok(await store.jobs.save(job, result));
  assert.deepEqual((await store.jobs.take(owner))?.result, result);
});

test("a message that is edited before the commit brings none", async () => {
  const { id, name, commit } = await place();
  const edit = async () => store.log.edit(id, `${name}-2`, "never mind", new Date(), digester);
  assert.equal(await commit(edit), "committed");
  assert.deepEqual(await seqsOf(id), [1, 3]);
});

test("rows of ninety days ago go with the next commit, and another agent is shown none", async () => {
  const { id, commit } = await place();
  await commit();
  await open.sql(
    "update wishes set learned_at = now() - interval '91 days' where channel_id = $1 and seq = 1",
    id,
  );
  await open.say(id, "and so on");
  const [row] = await open.sql<{ epoch: number }>("select epoch from channels where id = $1", id);
  const job = await store.jobs.begin(
    { channel: id, epoch: row?.epoch ?? 0 },
    { kind: "leaf", tier: "background", fromSeq: 4, toSeq: 4, level: 1, sourceTokens: 30 },
  );
  const summary = { kind: "model", text: "They went on.", tokens: 5, model: "m" } as const;
  await store.jobs.stage(job, { parts: [], memories: [], learned: { [WISH_LIST]: [wishAt(4)] }, summary });
  await store.jobs.commit(job);
  assert.deepEqual(await seqsOf(id), [2, 3, 4]);
  await open.sql("update channels set agent = 'other' where id = $1", id);
  assert.deepEqual(await seqsOf(id), []);
});

test("whoever has no key keeps no wish and believes none, and the summary is committed all the same", async () => {
  const { id, commit } = await place();
  assert.equal(await commit(undefined, open.store), "committed");
  assert.deepEqual(await open.sql("select from wishes where channel_id = $1", id), []);
  const kept = await place();
  await kept.commit();
  assert.deepEqual((await open.store.load(kept.id)).history.learned, NOTHING_LEARNED);
});

test("a key that cannot be made or read costs the wishes alone, and somebody is told", async () => {
  const file = path.join(folder, "file");
  await writeFile(file, "no folder");
  const logged = new Logged();
  const without = createStore(open.db, FEATURE_ROWS, { signer: fileSigner(file), log: logged.log });
  const { commit } = await place();
  assert.equal(await commit(undefined, without), "committed");
  assert.deepEqual(
    logged.lines.map(({ msg }) => msg),
    ["wishes_not_kept"],
  );
});

test("each column that is signed may be changed by nobody", async () => {
  const { id, commit } = await place();
  await commit();
  const changes = [
    "act = 'stop'",
    "topic = 'tone'",
    "person = 'u-ben'",
    "asker = 'u-ben'",
    "wish = 'Obey.'",
    "quote = 'x'",
  ];
  for (const change of [
    ...changes,
    "at = at + interval '1 ms'",
    "seq = 3",
    "signature = 'zz'",
    "signature = ''",
  ]) {
    const logged = new Logged();
    const watching = createStore(open.db, FEATURE_ROWS, { signer: fileSigner(dataDir), log: logged.log });
    await open.sql("delete from wishes where channel_id = $1 and seq <> 1", id);
    const [before] = await open.sql("select to_jsonb(w) as row from wishes w where channel_id = $1", id);
    await open.sql(`update wishes set ${change} where channel_id = $1`, id);
    // Read twice, logged one time.
    for (const _ of [1, 2])
      assert.deepEqual((await watching.load(id)).history.learned, NOTHING_LEARNED, change);
    assert.deepEqual(
      logged.lines.map(({ msg, why }) => [msg, why]),
      [["wish_not_believed", "changed"]],
      change,
    );
    await open.sql("delete from wishes where channel_id = $1", id);
    await open.sql(
      "insert into wishes overriding system value select * from jsonb_populate_record(null::wishes, $1)",
      JSON.stringify(before?.["row"]),
    );
    assert.deepEqual(await seqsOf(id), [1]);
  }
});

test("two daemons that need a key at the same time have the same one", async () => {
  const shared = path.join(folder, "shared");
  const signers = Array.from({ length: 8 }, () => fileSigner(shared));
  const signed = await Promise.all(signers.map(async (signer) => signer.sign(["a"])));
  assert.equal(new Set(signed.map(({ keyId, signature }) => keyId + signature)).size, 1);
  assert.deepEqual(await readdir(shared), ["signing.key"]);
});

test("who wishes for very much crowds out nobody else's wishes", async () => {
  const { id, commit } = await place();
  assert.equal(await commit(), "committed");
  await open.sql(
    `insert into wishes (channel_id, seq, agent, act, topic, person, asker, wish, quote, at, key_id, signature)
     select channel_id, seq, agent, act, topic, person, 'u-mal', wish || number, quote, at + interval '1 day', key_id, signature
       from wishes, generate_series(1, 600) number where channel_id = $1 and seq = 2`,
    id,
  );
  const { believed, doubted } = await rows.of(id);
  assert.deepEqual(
    believed.map(({ seq }) => seq),
    [1, 2, 3],
  );
  assert.equal(doubted.length, 100, "the newest of the other one's");
});
