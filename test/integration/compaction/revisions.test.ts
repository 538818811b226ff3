// proves: src/compactor/revision/reviser.ts, src/compactor/compactor.ts, src/store/memory/revisions.ts, prompts/en/compactor-revise.md.j2
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  compaction,
  compactions,
  listen,
  openScene,
  quiet,
  type Scene,
  script,
  summariserRequests,
} from "../../support/compaction.ts";
import { stalledStream, status, text, toolCalls } from "../../support/model-behaviours.ts";
import type { ChatRequest } from "../../support/model-server.ts";
import { until } from "../../support/patience.ts";
import { offers } from "../../support/request-pieces.ts";
import type { TestWeir } from "../../support/weir.ts";

const SUMMARY = "Ann measures the river each morning; the readings are in the green book.";
const BERLIN = "I live in Berlin, by the canal";
const MUNICH = "I have found a flat in Munich and live there";

const textOf = ({ messages }: ChatRequest): string => messages.map(({ content }) => content ?? "").join("\n");

/** Saves where Ann lives, wherever a transcript says so. */
function summarise(request: ChatRequest): ReturnType<typeof text> {
  const isSaved = request.messages.some(({ role }) => role === "tool");
  const memories = [BERLIN, MUNICH].flatMap((quote) => {
    const line = new RegExp(`^(\\d+)\\. .*${quote}`, "m").exec(textOf(request))?.[1];
    const statement = quote === BERLIN ? "Ann lives in Berlin." : "Ann lives in Munich.";
    return line === undefined
      ? []
      : [{ type: "fact", subject: "Ann", statement, quote, sources: [Number(line)] }];
  });
  const saves = offers(request, "memory_save") && !isSaved && memories.length > 0;
  return saves ? toolCalls([{ name: "memory_save", arguments: { memories } }]) : text(SUMMARY);
}

function revisions({ server }: Scene): ChatRequest[] {
  return summariserRequests(server).flatMap(({ body }) => (offers(body, "memory_revise") ? [body] : []));
}

/** Somebody says it, and readings follow until the summariser has saved so many memories or proofs of them. */
async function remember(
  { open }: Scene,
  weir: TestWeir,
  { room, said, proofs }: { readonly room: string; readonly said: string; readonly proofs: number },
): Promise<void> {
  const isKept = async (): Promise<boolean> => {
    const [row] = await open.sql<{ count: number }>("select count(*)::integer as count from memory_sources");
    return (row?.count ?? 0) >= proofs;
  };
  await weir.say(said, { room, addressed: false });
  for (let number = 100 * proofs; !(await isKept()); number++) {
    await listen(weir, room, number, number);
    await quiet(weir, room);
  }
}

async function remembered({ open }: Scene): Promise<unknown> {
  return open.sql(
    "select m.statement, n.statement as by from memories m left join memories n on n.id = m.superseded_by order by m.id",
  );
}

const COMPACTION = "max_raw_messages = 10\nkeep_messages = 3";

for (const ahead of [false, true])
  test(`a summariser that says so ends an older memory, written ahead: ${ahead}`, async () => {
    await using scene = await openScene();
    const room = "moved";
    script(scene.server, (request) =>
      offers(request, "memory_revise")
        ? toolCalls([
            {
              name: "memory_revise",
              arguments: { changes: [{ new: 1, old: 2, change: "replaces" }] },
            },
          ])
        : summarise(request),
    );
    await using weir = await scene.start({ window: 32_000, ahead, compaction: COMPACTION });
    await remember(scene, weir, { room, said: BERLIN, proofs: 1 });
    assert.equal(revisions(scene).length, 0, "there is nothing to compare it with");
    await remember(scene, weir, { room, said: MUNICH, proofs: 2 });
    const [asked, ...others] = revisions(scene);
    assert.ok(asked !== undefined && others.length === 0);
    assert.match(textOf(asked), /^Older:\n2\. \[\d{4}-\d\d-\d\d\] Ann \(fact\): Ann lives in Berlin\.$/m);
    assert.match(textOf(asked), /^New:\n1\. \[\d{4}-\d\d-\d\d\] Ann \(fact\): Ann lives in Munich\.$/m);
    assert.ok(!textOf(asked).includes("canal"), "statements alone");
    assert.deepEqual(await remembered(scene), [
      { statement: "Ann lives in Berlin.", by: "Ann lives in Munich." },
      { statement: "Ann lives in Munich.", by: null },
    ]);
    const calls = async (): Promise<number> =>
      (await scene.open.sql("select from model_calls where purpose = 'compaction' and job_id is null"))
        .length;
    await until("the record of the call, which is written when it is over", async () => (await calls()) > 0);
    assert.equal(await calls(), 1);
  });

test("a summariser that fails or writes nonsense changes nothing, and delays no summary", async () => {
  await using scene = await openScene();
  const room = "nonsense";
  let asked = 0;
  script(scene.server, (request) => {
    if (!offers(request, "memory_revise")) return summarise(request);
    return asked++ === 0
      ? status(400)
      : toolCalls([{ name: "memory_revise", arguments: { changes: "all" } }]);
  });
  await using weir = await scene.start({ window: 32_000, compaction: COMPACTION });
  await remember(scene, weir, { room, said: BERLIN, proofs: 1 });
  await remember(scene, weir, { room, said: MUNICH, proofs: 2 });
  assert.equal(asked, 1);
  await remember(scene, weir, { room, said: `${MUNICH} now`, proofs: 3 });
  assert.equal(asked, 2, "what a failed call was about is asked again with the next memories");
  const rows = await scene.open.sql(
    "select count(*)::integer as count from memories where valid_to is not null",
  );
  assert.deepEqual(rows, [{ count: 0 }]);
});

test("a compaction that becomes due ends the request about changed memories, which is made again later", async () => {
  await using scene = await openScene();
  const room = "busy";
  let asked = 0;
  const silent = Promise.withResolvers<void>();
  const replaces = { changes: [{ new: 1, old: 2, change: "replaces" }] };
  script(scene.server, (request) => {
    if (!offers(request, "memory_revise")) return summarise(request);
    silent.resolve();
    return asked++ === 0 ? stalledStream() : toolCalls([{ name: "memory_revise", arguments: replaces }]);
  });
  await using weir = await scene.start({ window: 32_000, compaction: COMPACTION });
  await remember(scene, weir, { room, said: BERLIN, proofs: 1 });
  await weir.say(MUNICH, { room, addressed: false });
  const isAsked = (): boolean => asked > 0;
  let number = 200;
  for (; !isAsked(); number++) {
    await listen(weir, room, number, number);
    await Promise.race([quiet(weir, room), silent.promise]);
  }
  const before = compactions(weir, room, "committed").length;
  // While the model is silent, so many messages come that a summary is due.
  await listen(weir, room, number, number + 11);
  await compaction(weir, room, "committed", before + 1);
  await quiet(weir, room);
  assert.equal(asked, 2);
  assert.deepEqual(await remembered(scene), [
    { statement: "Ann lives in Berlin.", by: "Ann lives in Munich." },
    { statement: "Ann lives in Munich.", by: null },
  ]);
});
