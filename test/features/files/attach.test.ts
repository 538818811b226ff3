// proves: src/features/files/feature.ts, src/core/attached-file.ts, src/channel/delivery/outbox.ts, migrations/0085_sent_pictures.sql
import assert from "node:assert/strict";
import path from "node:path";
import { after, test } from "node:test";
import { attachedBy, fileName, madeFiles, pictureName } from "../../../src/core/attached-file.ts";
import type { Entry } from "../../../src/core/entry.ts";
import { turnId } from "../../../src/core/ids.ts";
import { openStore } from "../../store/open-store.ts";
import { createTestDatabase } from "../../support/database.ts";
import { startDiscordWeir } from "../../support/discord/discord-weir.ts";
import { type Mill, openMill } from "../../support/discord/mill.ts";
import { ROUTE_MESSAGES } from "../../support/discord/server.ts";
import { PNG } from "../../support/mcp/pictures.ts";
import { text, toolCalls } from "../../support/model-behaviours.ts";
import { startModelServer } from "../../support/model-server.ts";
import { until } from "../../support/patience.ts";
import { startWeir } from "../../support/weir.ts";

const ON = "[agents.files]\nattach = true\n";
const attach = (more: object) => ({ name: "attach", arguments: more });
const PLAN = attach({ name: "../My plan.md", text: "# Plan\n\nBuy salt." });

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());

/** What the last request tells of the calls before it. */
function told({ model }: Mill): string[] {
  const messages = model.requests.at(-1)?.body.messages ?? [];
  return messages.flatMap(({ role, content }) => (role === "tool" ? (content ?? "") : []));
}

test("a text goes out as a file behind the answer, and later turns know of it", async () => {
  await using mill = await openMill();
  await using weir = await startDiscordWeir({ ...mill.options, agent: ON });
  const { discord, model, ann, general, mention } = mill;
  model.reply(toolCalls([PLAN]), text("Here is the plan."), text("As the file says."));
  discord.world.say(ann, general, `${mention} a plan, please`);
  await until("the file is there", () => discord.sentFiles(general).length === 1);
  assert.deepEqual(discord.sentFiles(general), ["My_plan.md: # Plan\n\nBuy salt."]);
  assert.deepEqual(told(mill), ["Attached: My_plan.md, 17 bytes. It goes out behind your answer."]);
  assert.deepEqual(discord.answers(general), ["Here is the plan.", ""]);
  discord.world.say(ann, general, `${mention} what is in it?`);
  await until("the second answer", () => discord.answers(general).length === 3);
  assert.match(JSON.stringify(model.requests.at(-1)?.body.messages), /Attached: My_plan\.md/);
  assert.ok(weir.events.some(({ type }) => type === "reply_delivered"));
});

test("a tool's newest result goes out by reference; what is no text, or there already, is refused", async () => {
  await using mill = await openMill();
  await using _ = await startDiscordWeir({ ...mill.options, agent: ON });
  const { discord, model, ann, general, mention } = mill;
  model.reply(
    toolCalls([attach({ name: "found.txt", result_of: "search_history" })]),
    toolCalls([{ name: "search_history", arguments: { query: "salt" } }]),
    toolCalls([
      attach({ name: "found.txt", result_of: "search_history" }),
      attach({ name: "both.txt", text: "a", result_of: "b" }),
    ]),
    toolCalls([attach({ name: "found.txt", text: "again" })]),
    text("Found."),
  );
  discord.world.say(ann, general, `${mention} look for salt`);
  await until("the file is there", () => discord.sentFiles(general).length === 1);
  assert.deepEqual(discord.sentFiles(general), [
    "found.txt: Nothing was found in this channel besides what you see.",
  ]);
  const [none, , done, both, again] = told(mill);
  assert.match(none ?? "", /^Error: Nothing was attached: there is no such text/);
  assert.match(done ?? "", /^Attached: found\.txt/);
  assert.match(both ?? "", /^Error: the arguments do not fit.*one of text, result_of and picture_of/s);
  assert.match(again ?? "", /^Error: .*attached already/);
});

test("a file whose acknowledgement was lost with the daemon is there once", async () => {
  await using mill = await openMill();
  const { discord, model, ann, general, mention } = mill;
  model.reply(toolCalls([PLAN]), text("Here is the plan."));
  {
    const agent = `${ON}[daemon]\ndrain_deadline_ms = 500\n`;
    await using _ = await startDiscordWeir({ ...mill.options, agent });
    const fault = { kind: "reset", when: "after" } as const;
    discord.faults.next({ method: "POST", route: ROUTE_MESSAGES, fault, skip: 1, times: 1000 });
    discord.world.say(ann, general, `${mention} a plan, please`);
    await until("the file was sent", () => discord.sentFiles(general).length === 1);
  }
  discord.faults.clear();
  await using weir = await startDiscordWeir({ ...mill.options, agent: ON });
  await until("it is delivered", () => weir.events.some(({ type }) => type === "reply_delivered"));
  assert.equal(discord.sentFiles(general).length, 1);
  assert.deepEqual(discord.answers(general), ["Here is the plan.", ""]);
});

test("where no files can be sent the model is told, and where the option is off it has no such tool", async () => {
  await using server = await startModelServer();
  const config = `[[agents]]\nid = "main"\nmodel = "test-model"\n${ON}`;
  await using weir = await startWeir({ connection: database.connection, modelUrl: server.url, config });
  server.reply(toolCalls([PLAN]), text("Then in words."));
  await weir.say("a plan, please", { room: "plain" });
  await weir.platform.until(() => weir.platform.texts("plain").length === 1);
  assert.match(JSON.stringify(server.requests.at(-1)?.body.messages), /no files can be sent here/);
  await using mill = await openMill();
  await using _ = await startDiscordWeir(mill.options);
  mill.model.respond(() => text("no"));
  mill.discord.world.say(mill.ann, mill.general, `${mill.mention} a plan, please`);
  await mill.model.received(1);
  const tools = mill.model.requests[0]?.body.tools ?? [];
  assert.ok(!tools.some((one) => one.function.name === "attach"));
});

for (const [given, plain] of [
  ["report.md", "report.md"],
  ["../../etc/passwd", "passwd.txt"],
  ["C:\\Users\\ann\\a b.csv", "a_b.csv"],
  [".bashrc", "bashrc.txt"],
  ["\u202Egpj.exe\u0000", "gpj.exe"],
  ["@everyone <b>.txt", "everyone_b_.txt"],
  ["отчёт.md", "отчёт.md"],
  ["", "file.txt"],
  ["...", "file.txt"],
  ["x".repeat(500), `${"x".repeat(80)}.txt`],
] as const) {
  test(`a file's name is plain: ${JSON.stringify(given.slice(0, 30))}`, () => {
    assert.equal(fileName(given), plain);
  });
}

test("of calls whose words were deleted no file is made", () => {
  const base = { seq: 1, at: new Date(0), tokens: 1, after: 0, turnId: turnId(1) };
  const call = (args: string): Entry => ({
    ...base,
    deleted: false,
    kind: "tool_call",
    text: "",
    calls: [{ id: "c", name: "attach", arguments: args }],
  });
  const result = (words: string, deleted = false): Entry => ({
    ...base,
    deleted,
    kind: "tool_result",
    callId: "c",
    tool: "attach",
    text: words,
    references: [],
    memories: [],
  });
  const whole = call('{"name":"a.txt","text":"words"}');
  assert.equal(attachedBy([whole, result("Attached: a.txt, 5 bytes.")])?.length, 1);
  assert.deepEqual(attachedBy([whole, result("Error: no")]), []);
  assert.equal(attachedBy([call("{}"), result("Attached: a.txt, 5 bytes.")]), null);
  assert.equal(attachedBy([whole, result("", true)]), null);
  const referred = attachedBy([
    call('{"name":"a","picture_of":"look"}'),
    result("Attached: a.png, 3 bytes (picture 1 of result 7). It goes out behind your answer."),
  ]);
  assert.deepEqual(referred, [{ name: "a.png", text: null, source: { seq: 7, picture: 1 } }]);
  const picture = { seq: 7, type: "image/png", bytes: Buffer.from("png") };
  assert.equal(madeFiles(referred, [], [picture])?.[0]?.type, "image/png");
  assert.equal(madeFiles(referred, [], []), null);
});

test("a picture's name has the ending of its type", () => {
  assert.deepEqual(
    ["cat.png", "cat.txt", "cat", "a/b.JPG"].map((name) => pictureName(name, "image/png")),
    ["cat.png", "cat.png", "cat.png", "b.png"],
  );
  assert.equal(pictureName("b.JPG", "image/jpeg"), "b.JPG");
});

const SERVER = path.join(import.meta.dirname, "../../support/mcp/picture-server.ts");
const SEES = `sees_images = true
${ON}[[agents.mcp]]
name = "kit"
command = ${JSON.stringify(process.execPath)}
args = [${JSON.stringify(SERVER)}]
approve = "never"
`;
const LOOK = { name: "kit__look", arguments: { kind: "a cat" } };
const SENT = `cat.png: ${PNG.toString()}`;

/** Talks until the model is offered the server's tools. */
async function untilTools({ discord, model, ann, general, mention }: Mill): Promise<void> {
  model.respond(() => text("hm"));
  await until("the server's tools", async () => {
    const asked = model.requests.length;
    discord.world.say(ann, general, `${mention} hello`);
    await model.received(asked + 1);
    return model.requests.at(-1)?.body.tools?.some((tool) => tool.function.name === LOOK.name) === true;
  });
}

async function keptPictures(mill: Mill): Promise<number> {
  await using beside = openStore(mill.database.connection);
  return (await beside.sql("select from images")).length;
}

test("a tool's picture goes out as a file, and is kept no longer", async () => {
  await using mill = await openMill();
  await using _ = await startDiscordWeir({ ...mill.options, agent: SEES });
  const { discord, model, ann, general, mention } = mill;
  await untilTools(mill);
  model.reply(
    toolCalls([attach({ name: "none", picture_of: LOOK.name })]),
    toolCalls([LOOK]),
    toolCalls([attach({ name: "cat", picture_of: LOOK.name }), PLAN]),
    text("A cat."),
  );
  discord.world.say(ann, general, `${mention} show me a cat`);
  await until("the files are there", () => discord.sentFiles(general).length === 2);
  assert.deepEqual(discord.sentFiles(general), [SENT, "My_plan.md: # Plan\n\nBuy salt."]);
  await until("no picture is kept", async () => (await keptPictures(mill)) === 0);
  assert.match(told(mill)[0] ?? "", /^Error: Nothing was attached: there is no such picture/);
});

for (const isDeleted of [false, true])
  test(`a picture that waits for its sending over a restart is ${isDeleted ? "not sent if its request is deleted meanwhile" : "sent"}`, async () => {
    await using mill = await openMill();
    const { discord, model, ann, general, mention } = mill;
    {
      await using _ = await startDiscordWeir({
        ...mill.options,
        agent: `${SEES}[daemon]\ndrain_deadline_ms = 500\n`,
      });
      await untilTools(mill);
      const isQuiet = (): boolean => discord.answers(general).length === model.requests.length;
      await until("their answers", isQuiet);
      model.reply(
        toolCalls([LOOK]),
        toolCalls([attach({ name: "cat", picture_of: LOOK.name })]),
        text("A cat."),
      );
      const fault = { kind: "status", status: 503, when: "before" } as const;
      discord.faults.next({ method: "POST", route: ROUTE_MESSAGES, fault, skip: 1, times: 1000 });
      const request = discord.world.say(ann, general, `${mention} show me a cat`);
      await until("the answer is there", () => discord.answers(general).includes("A cat."));
      if (isDeleted) discord.world.remove(request);
      if (isDeleted) await until("no picture is kept", async () => (await keptPictures(mill)) === 0);
    }
    assert.equal(await keptPictures(mill), isDeleted ? 0 : 1);
    discord.faults.clear();
    await using _ = await startDiscordWeir({ ...mill.options, agent: SEES });
    await until("no picture is kept", async () => (await keptPictures(mill)) === 0);
    if (!isDeleted) await until("the file is there", () => discord.sentFiles(general).length === 1);
    assert.deepEqual(discord.sentFiles(general), isDeleted ? [] : [SENT]);
  });

for (const [what, tool, calls, file] of [
  ["a text", "attach", [[PLAN]], "My_plan.md: # Plan\n\nBuy salt."],
  [
    "a result",
    "attach",
    [[LOOK], [attach({ name: "found.txt", result_of: LOOK.name })]],
    /^found\.txt: [^]*Here is a cat\./,
  ],
  ["a picture", "attach", [[LOOK], [attach({ name: "cat", picture_of: LOOK.name })]], SENT],
] as const)
  for (const isAllowed of [true, false])
    test(`${what} that waits for an approval is ${isAllowed ? "sent as it was asked for" : "not sent, and not kept, once it is denied"}`, async () => {
      await using mill = await openMill();
      const { discord, model, ann, general, mention } = mill;
      const approvals = `[agents.approvals]\ntools = { ${tool} = "always" }\napprovers = ["discord:${ann}"]\n`;
      await using _ = await startDiscordWeir({
        ...mill.options,
        agent: SEES.replace(ON, `${ON}${approvals}`),
      });
      await untilTools(mill);
      model.reply(...calls.map((one) => toolCalls([...one])), text("Asked."));
      discord.world.say(ann, general, `${mention} send it`);
      const question = (): string | undefined =>
        discord.messages(general).find(({ text: shown }) => shown.startsWith("#1: Weir asks"))?.id;
      await until(
        "the question",
        () => question() !== undefined && discord.answers(general).includes("Asked."),
      );
      assert.deepEqual(discord.sentFiles(general), []);
      // Another call of the tool, of which nobody has allowed anything.
      model.reply(toolCalls([{ ...LOOK, arguments: { kind: "a dog" } }]), text("A dog."));
      discord.world.say(ann, general, `${mention} and a dog`);
      await until("the dog", () => discord.answers(general).includes("A dog."));
      model.reply(text("Done."));
      discord.world.press(ann, question() ?? "", isAllowed ? "Allow once" : "Deny");
      await until("the answer", () => discord.answers(general).includes("Done."));
      await until("no picture is kept", async () => (await keptPictures(mill)) === 0);
      await until("its delivery", () => !isAllowed || discord.sentFiles(general).length === 1);
      const [sent = ""] = discord.sentFiles(general);
      if (!isAllowed) assert.equal(sent, "");
      else if (typeof file === "string") assert.equal(sent, file);
      else assert.match(sent, file);
      assert.doesNotMatch(sent, /dog/);
    });
