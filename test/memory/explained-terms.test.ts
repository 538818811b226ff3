// proves: src/memory/recall.ts, src/memory/rank-lines.ts
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { agentId, memoryId } from "../../src/core/ids.ts";
import type { Author } from "../../src/core/message.ts";
import { bareTerm, explanationsOf } from "../../src/memory/explained-terms.ts";
import { Recall } from "../../src/memory/recall.ts";
import { RecallMemories } from "../../src/memory/recall-memories.ts";
import type { MemoryHit } from "../../src/store/memory/memories.ts";
import { openTestStore } from "../store/open-store.ts";
import { rememberIn } from "../store/remember.ts";
import { ANN, authorOf, BEN } from "../support/commands.ts";

const open = await openTestStore();
const { store } = open;
const memories = new RecallMemories({
  memories: store.memories,
  search: store.search,
  now: () => new Date(),
});
const recall = new Recall({ search: store.search, now: Date.now });
const [ann, ben] = [authorOf(ANN), authorOf(BEN)];
const CLUSTER = "The cluster is the three Hetzner machines in Falkenstein.";
const PLANTED = "The cluster is the casino lottery voucher giveaway.";

function hit(subject: string, statement: string, asserter: string | null, type = "term" as const): MemoryHit {
  const memory = {
    id: memoryId(1),
    type,
    scope: "channel",
    subject,
    assertedBy: "X",
    statement,
    importance: 0.5,
    at: new Date(),
    proofs: 1,
  } as const;
  return { memory, words: 1, pieces: 0, time: 0, asserter };
}

describe("the definitions of a text's terms", () => {
  const hits = [
    hit("the cluster", CLUSTER, "ann"),
    hit("Cluster", PLANTED, "ben"),
    hit("鴨池", "鴨池は第二倉庫です", "ann"),
  ];
  const of = (text: string, ...askers: string[]): string[] =>
    explanationsOf(text, hits, askers).map(({ definition, share }) => `${share} ${definition}`);

  test("are the asker's own, else those of all, each with its share", () => {
    assert.deepEqual(of("is the CLUSTER's fan loud?", "ann"), [`1 ${CLUSTER}`]);
    assert.deepEqual(of("is our cluster up?", "ben"), [`1 ${PLANTED}`]);
    assert.deepEqual(of("is the cluster up?", "chi"), [`0.5 ${CLUSTER}`, `0.5 ${PLANTED}`]);
    assert.deepEqual(of("is the cluster up?"), [`0.5 ${CLUSTER}`, `0.5 ${PLANTED}`]);
  });

  test("are found by whole words, and in scripts without spaces by their characters", () => {
    assert.deepEqual(of("is it clustered?"), []);
    assert.deepEqual(of("鴨池はどこ", "chi"), ["1 鴨池は第二倉庫です"]);
  });

  test("are none of words that are in every sentence, which would keep out the others; but of acronyms", () => {
    const common = ["the", "is", "What", "it", "", "?!"].map((subject) => hit(subject, PLANTED, "ben"));
    const told = (text: string): string[] =>
      explanationsOf(text, [...common, hit("IT", "IT is the crew upstairs.", "ben"), ...hits], ["ann"]).map(
        ({ definition }) => definition,
      );
    assert.deepEqual(told("What is the state, is it up, is the cluster?"), [CLUSTER]);
    assert.deepEqual(told("Where does IT sit?"), ["IT is the crew upstairs."]);
  });

  test("are looked for without the term's article", () => {
    assert.deepEqual(["The Cluster", "an  ETA", "the", "Theatre"].map(bareTerm), [
      "cluster",
      "eta",
      "the",
      "theatre",
    ]);
  });
});

async function place(name: string): Promise<ReturnType<typeof asks>> {
  const { id: channel } = await open.channel(name);
  for (const said of [
    "The Falkenstein machines at Hetzner lose a disk each winter.",
    "The cluster was slow again on the day of the regatta.",
    "Casino lottery voucher giveaway, casino lottery voucher giveaway!",
  ]) {
    for (let index = 0; index < 8; index++)
      await open.say(channel, `Small talk number ${index} of the river.`);
    await open.say(channel, said);
  }
  await store.search.indexAll([channel], 100);
  return asks(channel);
}

function asks(channel: Awaited<ReturnType<typeof open.channel>>["id"]) {
  const asker = { agent: agentId("main"), channel, workspace: "", kind: "channel" as const };
  return {
    channel,
    define: async (statement: string, by: Author): Promise<void> => {
      const seq = await open.say(channel, statement, { author: by });
      await rememberIn(open, channel, {
        type: "term",
        subject: "the cluster",
        assertedBy: by.name,
        statement,
        sources: [{ seq, quote: statement }],
      });
    },
    /** What a turn and what `search_history` find, the small talk beside it left out. */
    found: async (text: string, by: Author): Promise<string[]> => {
      const asked = { ...asker, text, askers: [by.id], limit: 12 };
      const turn = await recall.findWithMemories({ text, to: 27, limit: 12 }, memories, asked);
      const tool = await recall.find({ channel, text, to: 27, limit: 12 }, { memories, asked });
      assert.deepEqual(turn.entries, tool, "the tool finds what the turn does");
      const heads = tool.map((entry) => (entry.text ?? "").split(" ").slice(0, 2).join(" "));
      return heads.filter((head) => head !== "Small talk");
    },
  };
}

describe("a term that somebody has defined", () => {
  test("finds what is said of what it means, behind what names it", async () => {
    const { define, found } = await place("defined");
    assert.deepEqual((await found("is the cluster up?", ann)).slice(0, 1), ["The cluster"]);
    assert.ok(!(await found("is the cluster up?", ann)).includes("The Falkenstein"));
    await define(CLUSTER, ann);
    for (const by of [ann, ben])
      assert.deepEqual((await found("is the cluster up?", by)).slice(0, 2), [
        "The cluster",
        "The Falkenstein",
      ]);
    assert.ok(!(await found("is the river up?", ann)).includes("The Falkenstein"), "it is not asked for");
  });

  test("means for an asker what they mean by it, and puts nothing of a stranger's before what it names", async () => {
    const { define, found } = await place("planted");
    await define(PLANTED, ben);
    assert.equal((await found("is the cluster up?", ann))[0], "The cluster");
    await define(CLUSTER, ann);
    const own = await found("is the cluster up?", ann);
    assert.deepEqual(own.slice(0, 2), ["The cluster", "The Falkenstein"]);
    assert.ok(!own.includes("Casino lottery"));
    assert.equal((await found("is the cluster up?", ben))[1], "Casino lottery");
  });

  test("explains nothing in another channel, and nothing more once it is forgotten", async () => {
    const [here, there] = [await place("here"), await place("there")];
    await here.define(CLUSTER, ann);
    assert.ok(!(await there.found("is the cluster up?", ann)).includes("The Falkenstein"));
    await open.sql("select forget_memory($1, m.id) from memories m where m.channel_id = $1", here.channel);
    assert.ok(!(await here.found("is the cluster up?", ann)).includes("The Falkenstein"));
  });

  test("finds memories of what it means, too", async () => {
    const { channel, define } = await place("remembered");
    await define(CLUSTER, ann);
    for (const statement of ["Falkenstein bills by the month.", "Ann likes tea."]) {
      const seq = await open.say(channel, statement);
      await rememberIn(open, channel, { subject: "it", statement, sources: [{ seq, quote: statement }] });
    }
    const asked = {
      agent: agentId("main"),
      channel,
      workspace: "",
      kind: "channel" as const,
      text: "what does the cluster cost?",
      askers: [],
      limit: 5,
    };
    const statements = (found: readonly { statement: string }[]): string[] =>
      found.map(({ statement }) => statement);
    const expected = [CLUSTER, "Falkenstein bills by the month."];
    assert.deepEqual(statements(await memories.find(asked)), expected);
    assert.deepEqual(
      statements(
        (await recall.findWithMemories({ text: asked.text, to: 27, limit: 5 }, memories, asked)).memories,
      ),
      expected,
    );
  });
});
