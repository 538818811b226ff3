// proves: migrations/baseline/09_memory.sql, src/memory/statement-marks.ts, src/store/memory/memory-rows.ts
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { agentId, type ChannelId, memoryId } from "../../../src/core/ids.ts";
import type { Author } from "../../../src/core/message.ts";
import { RecallMemories } from "../../../src/memory/recall-memories.ts";
import { marksOf } from "../../../src/memory/statement-marks.ts";
import type { AskingChannel } from "../../../src/store/memory/memory-scope.ts";
import { ANN, authorOf, BEN } from "../../support/commands.ts";
import { openTestStore } from "../open-store.ts";
import { foldBehind, rememberIn } from "../remember.ts";

const open = await openTestStore();
const { store } = open;
let count = 0;

async function place(): Promise<AskingChannel> {
  const asker = { agent: agentId("main"), workspace: "w", kind: "channel" as const };
  const address = { platform: "test", name: `upkeep-${++count}` };
  return { ...asker, channel: await store.channels.open({ address, ...asker }) };
}

interface Said {
  readonly id: number;
  readonly message: string;
}

/** Somebody says something on a day of November, and it is remembered. */
async function say(
  channel: ChannelId,
  statement: string,
  day: number,
  overrides: Readonly<Record<string, unknown>> & { readonly by?: Author } = {},
): Promise<Said> {
  const { by = authorOf(ANN), ...memory } = overrides;
  const message = `upkeep-said-${++count}`;
  const at = new Date(Date.UTC(2026, 10, day));
  const seq = await open.say(channel, statement, { id: message, at, author: by });
  const sources = [{ seq, quote: statement }];
  const draft = {
    statement,
    sources,
    at,
    assertedBy: by.name,
    subject: "it",
    ...marksOf(statement),
    ...memory,
  };
  return { id: await rememberIn(open, channel, draft), message };
}

/** What holds, and with its end what holds no more, in the order in which it was said. */
async function told(asker: AskingChannel): Promise<{ holds: string[]; ended: string[] }> {
  const listed = (await store.memories.inScope(asker, 100)).toReversed();
  const holds = listed.filter(({ until }) => until === undefined).map(({ statement }) => statement);
  const found = await store.memories.search(asker, {
    words: "'deploy' | 'port'",
    pieces: [],
    times: [],
    limit: 100,
  });
  for (const { memory } of found) assert.equal(memory.until, undefined, "recalled, and holds no more");
  const ended = listed.flatMap(({ statement, until }) =>
    until === undefined ? [] : [`${statement} until ${until.toISOString().slice(8, 10)}`],
  );
  return { holds, ended };
}

async function takeBack({ channel }: AskingChannel, { message }: Said): Promise<void> {
  await open.sql("select delete_message($1, $2)", channel, message);
}

describe("a newer statement of the same speaker", () => {
  for (const [before, now] of [
    ["The deploy is on Friday.", "The deploy is on Monday."],
    ["The port of the deploy is 5432.", "The port of the deploy is 5433."],
    ["The deploy needs a review.", "The deploy never needs a review."],
    ["The deploy ends on 2026-12-01.", "The deploy ends on 2026-12-08."],
    ["The deploy server is in Berlin.", "The deploy server is now in Hamburg."],
    ["deploy の会議は水曜日です", "deploy の会議は木曜日です"],
    ["Ann lives in Berlin.", "Ann now lives in Hamburg."],
    ["Ann eats meat.", "Ann doesn't eat meat anymore."],
    ["Ann eats meat.", "Ann no longer eats meat."],
    ["We meet in Berlin.", "We meet in Hamburg instead."],
    ["The standup is at 9:30.", "The standup is at 10:00."],
  ] as const)
    test(`"${now}" ends "${before}", whichever is remembered first`, async () => {
      for (const order of [1, -1]) {
        const asker = await place();
        const both = [() => say(asker.channel, before, 1), () => say(asker.channel, now, 2)];
        for (const one of order === 1 ? both : both.toReversed()) await one();
        assert.deepEqual(await told(asker), { holds: [now], ended: [`${before} until 02`] });
      }
    });

  for (const [before, now] of [
    ["The deploy is on Friday.", "The review is on Monday."],
    ["Ann speaks French at the deploy.", "Ann also speaks German at the deploy."],
    ["On 2026-11-01 the deploy took 12 minutes.", "On 2026-11-02 the deploy took 14 minutes."],
    ["Releases follow a deploy.", "Reviews follow a deploy."],
    ["Ann lives near the port.", "Ann lives with Ben."],
    ["Ann speaks German.", "Ann speaks French."],
    ["Ann now speaks German.", "Ann speaks French."],
    ["Ann knows Ben.", "Ann knows Chi."],
    ["Ann has a boat in Ulm.", "Ann has a boat in Bonn."],
  ] as const)
    test(`"${now}" does not end "${before}"`, async () => {
      const asker = await place();
      await say(asker.channel, before, 1);
      await say(asker.channel, now, 2);
      assert.deepEqual(await told(asker), { holds: [before, now], ended: [] });
    });
});

describe("what somebody says later", () => {
  test("ends what people have one of, whatever has another name; and what a word of theirs meant", async () => {
    for (const [type, before, now] of [
      ["preference", "Ann likes Earl Grey best.", "Ann likes Darjeeling best."],
      ["decision", "We host the site at Hetzner.", "We host the site at Scaleway."],
      ["goal", "Ann wants to run in Ulm.", "Ann wants to run in Bonn."],
      ["term", "The cluster is three machines in Falkenstein.", "By the cluster Ann means her grapes."],
    ]) {
      const asker = await place();
      await say(asker.channel, before ?? "", 1, { type });
      await say(asker.channel, now ?? "", 2, { type });
      assert.deepEqual(await told(asker), { holds: [now], ended: [`${before} until 02`] });
    }
  });

  test("ends theirs, too, where somebody else had said it before", async () => {
    const asker = await place();
    await say(asker.channel, "The deploy is on Monday.", 1, { by: authorOf(BEN) });
    await say(asker.channel, "The deploy is on Friday.", 2);
    const again = await say(asker.channel, "The deploy is on Monday.", 3);
    assert.deepEqual(await told(asker), {
      holds: ["The deploy is on Monday."],
      ended: ["The deploy is on Friday. until 03"],
    });
    await takeBack(asker, again);
    const both = ["The deploy is on Monday.", "The deploy is on Friday."];
    assert.deepEqual(await told(asker), { holds: both, ended: [] }, "they are two beliefs again");
  });

  test("ends nothing of another subject or type, and no event", async () => {
    const asker = await place();
    await say(asker.channel, "The deploy is on Friday.", 1);
    await say(asker.channel, "The deploy is on Monday.", 2, { subject: "else" });
    await say(asker.channel, "The deploy is on Tuesday.", 3, { type: "goal" });
    await say(asker.channel, "The deploy was on Friday.", 4, { type: "event" });
    await say(asker.channel, "The deploy was on Monday.", 5, { type: "event" });
    assert.deepEqual((await told(asker)).ended, []);
  });

  test("ends nothing of somebody else's, also of a namesake's: they are two beliefs", async () => {
    const asker = await place();
    await say(asker.channel, "The deploy is on Friday.", 1);
    await say(asker.channel, "The deploy is on Monday.", 2, { by: authorOf(BEN) });
    await say(asker.channel, "The deploy is on Tuesday.", 3, { by: { ...authorOf(BEN), name: "Ann" } });
    const { holds, ended } = await told(asker);
    assert.deepEqual(holds, ["The deploy is on Friday.", "The deploy is on Tuesday."]);
    assert.deepEqual(ended, ["The deploy is on Monday. until 03"], "a person is the same under another name");
  });

  test("ends nothing in another channel, and nothing that has no marks", async () => {
    const [here, there] = [await place(), await place()];
    await say(here.channel, "The deploy is on Friday.", 1);
    await say(there.channel, "The deploy is on Monday.", 2);
    await say(there.channel, "The deploy is on Tuesday.", 1, { marks: undefined, about: undefined });
    for (const asker of [here, there]) assert.deepEqual((await told(asker)).ended, []);
  });
});

test("two people who disagree are each told of the other, while both say so", async () => {
  const asker = await place();
  const who = async (): Promise<string[]> =>
    (await store.memories.inScope(asker, 10)).map(({ statement, otherwise = [] }) =>
      [
        statement,
        ...otherwise.map(({ assertedBy, at }) => `${assertedBy} ${at.toISOString().slice(8, 10)}`),
      ].join(" / "),
    );
  await say(asker.channel, "Ben speaks German.", 1);
  await say(asker.channel, "Ben speaks French.", 1, { by: authorOf(BEN) });
  await say(asker.channel, "The deploy is on Friday.", 2);
  const other = await say(asker.channel, "The deploy is on Monday.", 3, { by: authorOf(BEN) });
  const both = ["The deploy is on Monday. / Ann 02", "The deploy is on Friday. / Ben 03"];
  assert.deepEqual((await who()).slice(0, 2), both);
  assert.deepEqual(
    (await who()).slice(2),
    ["Ben speaks French.", "Ben speaks German."],
    "one may be as true as the other",
  );
  const found = await new RecallMemories({
    memories: store.memories,
    search: store.search,
    now: () => new Date(),
  }).find({ ...asker, askers: [], text: "the deploy", limit: 2 });
  assert.deepEqual(
    found.map(({ otherwise = [] }) => otherwise.length),
    [1, 1],
  );
  await takeBack(asker, other);
  assert.deepEqual((await who())[0], "The deploy is on Friday.");
  assert.deepEqual(await open.sql("select from memory_disputes where other_id = $1", other.id), []);
  const again = await say(asker.channel, "The deploy is on Tuesday.", 5, { by: authorOf(BEN) });
  await say(asker.channel, "The deploy is on Tuesday.", 6);
  assert.deepEqual(
    (await who()).filter((one) => one.includes("Tuesday")),
    ["The deploy is on Tuesday."],
    "they agree",
  );
  assert.equal((await store.memories.find(asker, again.id))?.otherwise, undefined);
});

test("nobody is told of a dissent that shows in fewer places than the memory", async () => {
  const shared = { agent: agentId("main"), workspace: "w-narrow", kind: "channel" as const };
  const openShared = async (name: string): Promise<AskingChannel> => {
    const address = { platform: "test", name: `${name}-${++count}` };
    const channel = await store.channels.open({ address, ...shared, isPrivate: false, sharesMemory: true });
    return { ...shared, channel };
  };
  const [here, elsewhere] = [await openShared("narrow"), await openShared("wide")];
  const statement = "The deploy is on Monday.";
  await say(here.channel, "The deploy is on Friday.", 2);
  const seq = await open.say(here.channel, statement, { id: `narrow-${++count}`, author: authorOf(BEN) });
  const draft = {
    type: "fact",
    subject: "it",
    assertedBy: "Ben",
    statement,
    importance: 0.5,
    at: "2026-11-03T09:00:00Z",
    sources: [{ seq, quote: statement }],
    ...marksOf(statement),
  };
  // It was told in a private channel when it was exported, and is imported where people share.
  await open.sql("select import_memory($1, $2, 'channel', null)", here.channel, JSON.stringify(draft));
  const dissent = async (asker: AskingChannel): Promise<string[]> =>
    (await store.memories.inScope(asker, 10))
      .filter(({ statement: one }) => one.includes("Friday"))
      .flatMap(({ otherwise = [] }) => otherwise.map(({ assertedBy }) => assertedBy));
  assert.deepEqual(await dissent(elsewhere), [], "what its own channel alone is told");
  const [friday] = await store.memories.inScope(elsewhere, 10);
  assert.equal(friday?.statement, "The deploy is on Friday.");
});

test("a memory is told as said by whoever still says it, and on that day", async () => {
  const chi = authorOf({ id: "u-chi", name: "Chi", roles: [] });
  const asker = await place();
  const { channel } = asker;
  const who = async (): Promise<string[]> =>
    (await store.memories.inScope(asker, 10)).map(
      ({ assertedBy, at }) => `${assertedBy} ${at.toISOString().slice(8, 10)}`,
    );
  const first = await say(channel, "The barn is red.", 2, { by: authorOf(BEN) });
  const again = await say(channel, "The barn is red.", 3, { by: authorOf(BEN) });
  await say(channel, "The barn is red.", 4, { by: chi });
  await takeBack(asker, first);
  assert.deepEqual(await who(), ["Ben 02"]);
  await takeBack(asker, again);
  assert.deepEqual(await who(), ["Chi 04"]);
});

test("what was quoted is read with the dissent of what was quoted beside it, and of nothing else", async () => {
  const { channel } = await place();
  const own = await say(channel, "The deploy is on Friday.", 2);
  const other = await say(channel, "The deploy is on Monday.", 3, { by: authorOf(BEN) });
  const named = async (...ids: readonly number[]): Promise<number[]> =>
    [...(await store.past.statements(channel, ids.map(memoryId))).values()].map(
      ({ otherwise = [] }) => otherwise.length,
    );
  assert.deepEqual(await named(own.id), [0]);
  assert.deepEqual(await named(own.id, other.id), [1, 1]);
});

test("who sees a memory only because it is their own is not told who says otherwise there", async () => {
  const asker = await place();
  await say(asker.channel, "The deploy is on Friday.", 2);
  await say(asker.channel, "The deploy is on Monday.", 3, { by: authorOf(BEN) });
  const other = await place();
  const own = await store.cited.ownWords("test", ANN.id, { than: other.channel }, 100);
  const found = own.filter(({ channel }) => channel.address.name.startsWith("upkeep-"));
  assert.ok(found.length > 0);
  assert.deepEqual(
    found.filter(({ otherwise }) => otherwise !== undefined),
    [],
  );
});

test("who sees a memory only because it is their own is told neither who says the same there, nor how many do", async () => {
  const asker = await place();
  const bens = await say(asker.channel, "The harbour is wide.", 2, { by: authorOf(BEN) });
  const own = await say(asker.channel, "The port is broad.", 3);
  const bensToo = await say(asker.channel, "The haven is vast.", 4, { by: authorOf(BEN) });
  const other = await place();
  const shown = async (): Promise<unknown[]> => {
    const found = await store.cited.ownWords(
      "test",
      ANN.id,
      { than: other.channel, id: memoryId(own.id) },
      1,
    );
    return found.map(({ proofs, sameAs }) => [proofs, sameAs]);
  };
  await foldBehind(open, own.id, bensToo.id);
  assert.deepEqual(await shown(), [[1, undefined]]);
  await foldBehind(open, bens.id, own.id);
  assert.deepEqual(await shown(), [[1, undefined]]);
});

describe("what a statement ended", () => {
  test("holds again once the statement is deleted or forgotten", async () => {
    for (const take of ["delete", "forget"]) {
      const asker = await place();
      const old = await say(asker.channel, "The deploy is on Friday.", 1);
      const now = await say(asker.channel, "The deploy is on Monday.", 2);
      if (take === "delete") await takeBack(asker, now);
      else await open.sql("select forget_memory($1, $2)", asker.channel, now.id);
      assert.deepEqual(await told(asker), { holds: ["The deploy is on Friday."], ended: [] });
      const [row] = await open.sql("select valid_to, superseded_by from memories where id = $1", old.id);
      assert.deepEqual(row, { validTo: null, supersededBy: null });
    }
  });

  test("ends with what ended the statement, where there is such", async () => {
    const asker = await place();
    const said: Said[] = [];
    for (const [index, day] of ["Friday", "Monday", "Tuesday"].entries())
      said.push(await say(asker.channel, `The deploy is on ${day}.`, index + 1));
    const [first, second, third] = said;
    assert.ok(first !== undefined && second !== undefined && third !== undefined);
    await takeBack(asker, second);
    assert.deepEqual(await told(asker), {
      holds: ["The deploy is on Tuesday."],
      ended: ["The deploy is on Friday. until 03"],
    });
    await takeBack(asker, first);
    await takeBack(asker, third);
    assert.deepEqual(await told(asker), { holds: [], ended: [] });
  });

  test("stays ended only while its own speaker says otherwise, whoever else does", async () => {
    const asker = await place();
    await say(asker.channel, "The deploy is on Friday.", 1);
    const own = await say(asker.channel, "The deploy is on Monday.", 2);
    const again = await say(asker.channel, "The deploy is on Monday.", 3);
    await say(asker.channel, "The deploy is on Monday.", 4, { by: authorOf(BEN) });
    await takeBack(asker, own);
    const ended = ["The deploy is on Friday. until 02"];
    assert.deepEqual(await told(asker), { holds: ["The deploy is on Monday."], ended });
    await takeBack(asker, again);
    const both = ["The deploy is on Friday.", "The deploy is on Monday."];
    assert.deepEqual(await told(asker), { holds: both, ended: [] });
  });

  test("is gone with its own messages, and is found to be forgotten", async () => {
    const asker = await place();
    const old = await say(asker.channel, "The deploy is on Friday.", 1);
    await say(asker.channel, "The deploy is on Monday.", 2);
    assert.equal((await store.memories.find(asker, old.id))?.statement, "The deploy is on Friday.");
    await takeBack(asker, old);
    assert.deepEqual(await told(asker), { holds: ["The deploy is on Monday."], ended: [] });
  });
});

describe("nearly the same statement", () => {
  test("is one more proof, whoever says it, and goes with its last one", async () => {
    const asker = await place();
    const first = await say(asker.channel, "The deploy of the river gauge is on Friday at noon.", 1);
    const again = await say(asker.channel, "The deploy of the river gauges is on Friday at noon", 2, {
      by: authorOf(BEN),
    });
    assert.equal(again.id, first.id);
    const [memory, ...rest] = await store.memories.inScope(asker, 10);
    assert.deepEqual([memory?.proofs, rest.length], [2, 0]);
    await takeBack(asker, first);
    await takeBack(asker, again);
    assert.deepEqual(await told(asker), { holds: [], ended: [] });
  });

  test("is none where it tells of other days", async () => {
    const asker = await place();
    const day = (date: string): { refers: { from: string; to: string } } => ({
      refers: { from: date, to: date },
    });
    const first = await say(asker.channel, "The deploy is on Friday.", 1);
    const same = await say(asker.channel, "The deploy is on Friday.", 2, day("2026-11-06"));
    const next = await say(asker.channel, "the deploy is on friday", 9, day("2026-11-13"));
    assert.equal(same.id, first.id);
    assert.notEqual(next.id, first.id);
    const listed = await store.memories.inScope(asker, 10);
    assert.deepEqual(
      listed.map(({ refers }) => refers?.from),
      ["2026-11-13", "2026-11-06"],
    );
  });

  test("is none with another number, name or negation", async () => {
    const asker = await place();
    const same = "the deploy of the river gauge with all of its parts and papers";
    for (const [index, end] of [
      "takes 12 days",
      "takes 13 days",
      "never takes 12 days",
      "takes 12 days in Ulm",
    ].entries())
      await say(asker.channel, `Of ${same} ${end}`, 1, { by: { id: `u-${index}`, name: "X", isBot: false } });
    assert.equal((await told(asker)).holds.length, 4);
  });
});

test("what the agent repeats proves nothing of what somebody has said, and is counted", async () => {
  const asker = await place();
  const statement = "Ann sends the deploy report on Friday.";
  const first = await say(asker.channel, statement, 1, { type: "commitment" });
  const [row] = await open.sql<{ seq: number }>(
    `insert into turns (channel_id, epoch, from_seq, to_seq, state, settled_at)
     select id, epoch, last_seq, last_seq, 'answered', now() from channels where id = $1 returning to_seq as seq`,
    asker.channel,
  );
  assert.ok(row !== undefined);
  const [own] = await open.sql<{ seq: number }>(
    `insert into entries (channel_id, seq, kind, at, text, tokens, turn_id, after_seq, epoch)
     select c.id, c.last_seq + 1, 'assistant', now(), $2, 9, t.id, t.to_seq, c.epoch
       from channels c join turns t on t.channel_id = c.id where c.id = $1 returning seq`,
    asker.channel,
    statement,
  );
  assert.ok(own !== undefined);
  const sources = [{ seq: own.seq, quote: statement }];
  const draft = {
    statement,
    sources,
    type: "commitment",
    subject: "it",
    assertedBy: "main",
    ...marksOf(statement),
  } as const;
  assert.equal(await rememberIn(open, asker.channel, draft), first.id);
  const rejected = await store.memories.rejected({ channel: asker.channel });
  assert.deepEqual(
    rejected.map(({ reason, count: times }) => [reason, times]),
    [["restated_memory", 1]],
  );
  await takeBack(asker, first);
  assert.deepEqual(await told(asker), { holds: [], ended: [] });
});

test("refused memories are counted by channel and reason", async () => {
  const asker = await place();
  await store.memories.countRejected(asker.channel, []);
  assert.deepEqual(await store.memories.rejected({ channel: asker.channel }), []);
  await Promise.all(
    [1, 2, 3].map(async () => store.memories.countRejected(asker.channel, ["secret", "quote", "secret"])),
  );
  const rejected = await store.memories.rejected({ channel: asker.channel });
  assert.deepEqual(
    rejected.map(({ reason, count: times }) => [reason, times]),
    [
      ["quote", 3],
      ["secret", 6],
    ],
  );
});

const days = fc.constantFrom("Friday", "Monday", "Tuesday", "Sunday");
const saying = fc.record({ day: days, at: fc.integer({ min: 1, max: 28 }), by: fc.constant(ANN) });

test("of what one person says of one thing the newest alone holds, in whatever order it is remembered and taken back", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(saying, { minLength: 1, maxLength: 6, selector: ({ at }) => at }),
      fc.array(fc.nat(5), { maxLength: 3 }),
      async (sayings, gone) => {
        const asker = await place();
        const said: ((typeof sayings)[number] & Said)[] = [];
        for (const one of sayings) {
          const remembered = await say(asker.channel, `The deploy is on ${one.day}.`, one.at, {
            by: authorOf(one.by),
          });
          said.push({ ...one, ...remembered });
        }
        for (const index of gone) {
          const [one] = said.splice(index, 1);
          if (one !== undefined) await takeBack(asker, one);
        }
        const rows = await open.sql<{
          id: number;
          validTo: Date | null;
          supersededBy: number | null;
          by: string;
          at: Date;
        }>(
          `select m.id, m.valid_to, m.superseded_by, memory_asserter(m.id, m.asserted_by) as by,
                  last_said(m.id, memory_asserter(m.id, m.asserted_by)) as at
             from memories m where m.channel_id = $1`,
          asker.channel,
        );
        const byId = new Map(rows.map((row) => [row.id, row]));
        for (const { validTo: end, supersededBy: next, at } of rows) {
          assert.equal(end === null, next === null, "an end has a reason");
          const newer = next === null ? undefined : byId.get(next);
          if (next === null) continue;
          assert.ok(newer !== undefined && newer.at >= at, "what ends a statement is there, and not older");
          assert.ok(end !== null && end >= at, "it ends behind what it says");
        }
        for (const [, own] of Map.groupBy(rows, ({ by }) => by))
          assert.ok(
            own.some(({ validTo: end }) => end === null),
            "something holds",
          );
      },
    ),
    { numRuns: 60 },
  );
});
