// proves: src/compactor/summary/writer.ts, src/memory/gates.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ask,
  checkFold,
  compaction,
  compactions,
  listen,
  openScene,
  quiet,
  said,
  type Scene,
  script,
  summariserRequests,
} from "../../support/compaction.ts";
import { BACKGROUND, fillTo } from "../../support/full-channel.ts";
import { status, text, toolCalls } from "../../support/model-behaviours.ts";

const SUMMARY = "Ann measures the river each morning; the readings are in the green book.";
const KEPT = "Ann keeps her readings in a green book.";
const memory = (statement: string, quote: string, sources: number[]): object => ({
  type: "fact",
  subject: "Ann",
  statement,
  quote,
  sources,
});

/** One that passes the gates, and four that fail one each: quote, range, relative date, no text at all. */
const saves = toolCalls([
  {
    name: "memory_save",
    arguments: {
      memories: [
        memory(KEPT, "into the green book", [3, 4]),
        memory("Ann keeps a red zxqbook.", "into the red book", [3]),
        memory("Ann has zxqgeese.", "feed the geese", [900]),
        memory("Ann comes zxqback tomorrow.", "she walked home", [2]),
        { zxqnonsense: true },
      ],
    },
  },
]);

async function memories({ open }: Scene): Promise<unknown[]> {
  const rows = await open.sql<{ statement: string }>("select statement from memories order by id");
  return rows.map(({ statement }) => statement);
}

test("memories of the same run are committed with the summary, and recalled in later turns and by the tool", async () => {
  await using scene = await openScene();
  const { server, open } = scene;
  const room = "kept";
  script(server, (_, index) => (index === 0 ? saves : text(SUMMARY)));
  await fillTo(scene, room, BACKGROUND);
  await using weir = await scene.start();
  await ask(weir, server, room, "are you there?");
  const landed = await compaction(weir, room, "committed");
  assert.equal(landed.memories, 1);
  assert.deepEqual(await memories(scene), [KEPT]);
  const [, second] = summariserRequests(server);
  const result = second?.body.messages.find(({ role }) => role === "tool")?.content ?? "";
  assert.match(
    result,
    /^1 kept, 4 dropped\.\n- memories\[1\]: .*line 3.*\n- memories\[2\]: .*line 900.*\n- /,
  );
  const sources = await open.sql("select seq, quote from memory_sources order by seq");
  assert.deepEqual(sources, [
    { seq: 3, quote: "into the green book" },
    { seq: 4, quote: "into the green book" },
  ]);
  const [job] = await open.sql("select memories, state from jobs");
  assert.deepEqual(job, { memories: 1, state: "committed" });

  const lines = said(await ask(weir, server, room, "where are the readings that Ann keeps?"));
  assert.equal(lines[1], `[Compaction Summary]: ${SUMMARY}`);
  const dynamic = lines.at(-1) ?? "";
  assert.match(dynamic, /^\[System: what is true just now/);
  assert.match(dynamic, /\n> \[\d{4}-\d\d-\d\d\] Ann \(fact\): Ann keeps her readings in a green book\.$/m);
  assert.ok(!lines[0]?.includes(KEPT) && !lines.slice(1, -2).join("\n").includes(KEPT), "and nowhere else");

  let asked = 0;
  script(
    server,
    () => status(500),
    () =>
      asked++ === 0
        ? toolCalls([{ name: "memory_recall", arguments: { query: "readings" } }])
        : text("in a green book", { usage: "none" }),
  );
  await ask(weir, server, room, "look it up");
  const told = server.requests.at(-1)?.body.messages.at(-1);
  assert.equal(told?.role, "tool");
  assert.match(
    told.content ?? "",
    /^\[\d{4}-\d\d-\d\d\] Ann \(fact\): Ann keeps her readings in a green book\.$/,
  );
  await checkFold(weir, room);
});

test("a job that fails leaves no memory", async () => {
  await using scene = await openScene();
  const room = "failed";
  script(scene.server, (_, index) => (index % 2 === 0 ? saves : text("")));
  await fillTo(scene, room, BACKGROUND);
  await using weir = await scene.start();
  await ask(weir, scene.server, room, "are you there?");
  await compaction(weir, room, "failed");
  assert.ok(summariserRequests(scene.server).length >= 2);
  assert.deepEqual(await memories(scene), []);
  assert.deepEqual(await scene.open.sql("select result from jobs"), [{ result: null }]);
});

test("the same said again is one memory with more proofs; merges and redos save none", async () => {
  await using scene = await openScene();
  const { server, open } = scene;
  const room = "again";
  // Whoever is offered the tool uses it.
  script(server, ({ tools, messages }) => {
    const isSaved = messages.some(({ role }) => role === "tool");
    const sources = [1, 2];
    const keeps = { memories: [memory(KEPT, "into the green book", sources)] };
    return tools === undefined || isSaved
      ? text(SUMMARY)
      : toolCalls([{ name: "memory_save", arguments: keeps }]);
  });
  await using weir = await scene.start({
    window: 32_000,
    compaction: "max_raw_messages = 10\nkeep_messages = 3",
  });
  const isMerged = (): boolean => compactions(weir, room, "committed").some(({ kind }) => kind === "merge");
  for (let number = 1; !isMerged(); number++) {
    await listen(weir, room, number, number);
    await quiet(weir, room);
  }
  const committed = compactions(weir, room, "committed");
  const leaves = committed.filter(({ kind }) => kind === "leaf").length;
  for (const { kind, memories: saved } of committed) assert.equal(saved, kind === "leaf" ? 1 : 0);
  assert.deepEqual(await memories(scene), [KEPT]);
  const [proofs] = await open.sql("select count(*)::integer as count from memory_sources");
  assert.deepEqual(proofs, { count: leaves * 2 });
});
