import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { text, toolCalls } from "../../support/model-behaviours.ts";
import { startModelServer } from "../../support/model-server.ts";
import { called, returned } from "../entries.ts";
import { attempt, conversation, GOOD, leaf, messagesOf, textOf, transcriptOf } from "./attempt-harness.ts";

const first = {
  type: "decision",
  subject: "topic-2",
  statement: "Topic 2 is the one that counts.",
  quote: "topic-2 and nothing but",
  sources: [3],
  importance: 0.8,
};
const offered = { memory: true };

suite("memories", () => {
  test("are saved in rounds before the summary; the model is told what was dropped and why", async () => {
    await using server = await startModelServer();
    const wrong = { ...first, statement: "Ben likes tea.", quote: "never said" };
    server.reply(
      toolCalls([{ name: "memory_save", arguments: { memories: [first, wrong] } }]),
      toolCalls([
        { name: "memory_save", arguments: { memories: [first] } },
        { name: "memory_save", arguments: "no json" },
        { name: "invented", arguments: {} },
      ]),
      text(GOOD),
    );
    const { outcome } = await attempt(server, leaf(), offered);
    assert.ok(outcome.kind === "finished");
    assert.equal(outcome.result.summary?.text, GOOD);
    const { memories } = outcome.result;
    assert.deepEqual(
      memories.map(({ statement, assertedBy, sources }) => ({ statement, assertedBy, sources })),
      [{ statement: first.statement, assertedBy: "Ann", sources: [{ seq: 3, quote: first.quote }] }],
    );
    const request = server.requests[0]?.body;
    assert.deepEqual(
      request?.tools?.map((tool) => tool.function.name),
      ["memory_save"],
    );
    assert.match(messagesOf(request).at(-1)?.text ?? "", /call `memory_save`, do that first/);
    const results = messagesOf(server.requests[2]?.body).filter(({ role }) => role === "tool");
    assert.match(
      results[0]?.text ?? "",
      /^1 kept, 1 dropped\.\n- memories\[1\]: the quote does not stand in line 3/,
    );
    assert.match(results[1]?.text ?? "", /^1 kept, 0 dropped\.\nThen write the summary/);
    assert.match(results[2]?.text ?? "", /not valid JSON/);
    assert.match(results[3]?.text ?? "", /the only tool is memory_save/);
  });

  test("never take more than the ten calls: at last the summary alone is asked for", async () => {
    await using server = await startModelServer();
    server.respond(({ tool_choice: choice }) =>
      choice === "none" ? text(GOOD) : toolCalls([{ name: "memory_save", arguments: { memories: [first] } }]),
    );
    assert.equal(textOf(await attempt(server, leaf(), offered)), GOOD);
    assert.equal(server.requests.length, 9);
    await using deaf = await startModelServer();
    deaf.respond(() => toolCalls([{ name: "memory_save", arguments: { memories: [first] } }]));
    assert.equal((await attempt(deaf, leaf(), offered)).outcome.kind, "refused");
    assert.ok(deaf.requests.length <= 10);
  });

  test("rounds that fill the window are taken out of the request again", async () => {
    await using server = await startModelServer();
    const many = Array.from({ length: 20 }, () => ({ ...first, statement: "wrong ".repeat(60) }));
    server.respond(({ tool_choice: choice }) =>
      choice === "none" ? text(GOOD) : toolCalls([{ name: "memory_save", arguments: { memories: many } }]),
    );
    assert.equal(textOf(await attempt(server, leaf(), { ...offered, windowTokens: 8192 })), GOOD);
    const last = server.requests.at(-1)?.body;
    assert.equal(last?.messages.length, server.requests[0]?.body.messages.length);
  });
});

suite("memories", () => {
  for (const kind of ["merge", "redo"] as const) {
    test(`are not extracted by a ${kind}`, async () => {
      await using server = await startModelServer();
      server.reply(text(GOOD));
      assert.equal(textOf(await attempt(server, { ...leaf(), kind }, offered)), GOOD);
      assert.equal(server.requests[0]?.body.tools, undefined);
      assert.doesNotMatch(messagesOf(server.requests[0]?.body).at(-1)?.text ?? "", /memory_save/);
    });
  }
});

suite("results of tools", () => {
  const found = "The lock of Falkenstein has 4 gates.";
  const entries = [
    ...conversation(38),
    called(39, 38, [{ name: "look_up", arguments: "{}" }]),
    returned(40, 38, "look_up", `${found} ${"and more ".repeat(400)}`, 0, true),
    returned(41, 38, "search_history", found),
  ];
  const memory = (line: number): object => ({
    type: "fact",
    subject: "the lock of Falkenstein",
    statement: found,
    quote: "has 4 gates",
    sources: [line],
  });

  test("are numbered lines, of which a finding may be cited", async () => {
    await using server = await startModelServer();
    server.reply(
      toolCalls([{ name: "memory_save", arguments: { memories: [memory(41), memory(40)] } }]),
      text(GOOD),
    );
    const { outcome } = await attempt(server, leaf(entries), offered);
    const transcript = transcriptOf(server.requests[0]?.body);
    assert.match(transcript, /^40\. .*look_up returned: The lock of Falkenstein has 4 gates\./m);
    assert.match(transcript, /^41\. .*search_history returned: The lock/m);
    assert.match(JSON.stringify(server.requests[0]?.body.tools), /What a tool returned may be kept as well/);
    assert.ok(outcome.kind === "finished");
    assert.deepEqual(
      outcome.result.memories.map(({ tool, type, sources }) => ({ tool, type, sources })),
      [{ tool: "look_up", type: "observation", sources: [{ seq: 40, quote: "has 4 gates" }] }],
    );
    const result = messagesOf(server.requests[1]?.body).find(({ role }) => role === "tool");
    assert.match(
      result?.text ?? "",
      /^1 kept, 1 dropped\.\n- memories\[0\]: line 41 was not said by a person/,
    );
  });
});

test("a result in another part than its call proves nothing that the call has", async () => {
  await using server = await startModelServer();
  const found = "The lock of Falkenstein has 4 gates.";
  const results = Array.from({ length: 10 }, (_, index) =>
    returned(4 + index, 2, "look_up", `${"more ".repeat(200)} saved: ${found}`, 0, true),
  );
  const call = called(3, 2, [{ name: "look_up", arguments: JSON.stringify({ query: found }) }]);
  server.respond((request) => {
    const line = /^(\d+)\. .*look_up returned/m.exec(transcriptOf(request))?.[1];
    if (line === undefined || request.tools === undefined) return text(GOOD);
    if (request.messages.some(({ role }) => role === "tool")) return text(GOOD);
    const memory = {
      ...first,
      subject: "the lock",
      statement: found,
      quote: "saved",
      sources: [Number(line)],
    };
    return toolCalls([{ name: "memory_save", arguments: { memories: [memory] } }]);
  });
  const small = { ...offered, windowTokens: 4500, capTokens: 120 };
  const { saved } = await attempt(server, leaf([...conversation(2), call, ...results]), small);
  const parts = server.requests.filter(({ body }) => /look_up returned/.test(transcriptOf(body)));
  assert.ok(
    parts.some(({ body }) => !/look_up\(/.test(transcriptOf(body))),
    "a part has no call",
  );
  assert.deepEqual(
    saved.map(({ memories }) => memories.length),
    saved.map(() => 0),
  );
  assert.ok(saved.length > 1);
});
