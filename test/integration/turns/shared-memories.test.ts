// proves: migrations/baseline/09_memory.sql, src/store/memory/memories.ts, src/router/channel-ids.ts, src/channel/text-changes.ts
// What was told in a few people's place shows in no other one, whatever is asked there, and what was told in public shows where it may.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { InboundMessage } from "../../../src/core/message.ts";
import { agentId, channelId } from "../../../src/core/ids.ts";
import { RecallMemories } from "../../../src/memory/recall-memories.ts";
import { rowsWith } from "../../store/rows-with.ts";
import { rememberIn } from "../../store/remember.ts";
import { ANN, BEN, command, commandAnswer } from "../../support/commands.ts";
import { indexAll } from "../../support/covered.ts";
import { ask, compaction, hold, openScene, reading, type Scene, script } from "../../support/compaction.ts";
import { TEST_DIGESTER } from "../../support/digester.ts";
import { BACKGROUND, fillTo } from "../../support/full-channel.ts";
import { until } from "../../support/patience.ts";
import { text, toolCalls } from "../../support/model-behaviours.ts";
import type { Behaviour } from "../../support/model-server.ts";
import { isSubagents, spawn } from "../../support/subagents.ts";
import { openTogether, THREE, type Together } from "../../support/together.ts";
import { type OpenStore, openStore } from "../../store/open-store.ts";
import type { TestWeir } from "../../support/weir.ts";

type Place = Pick<InboundMessage, "kind" | "isPrivate" | "place"> & { readonly workspace?: string };

function threadOf(channel: string, more: { readonly isExternal?: true } = {}): Place {
  return {
    kind: "thread",
    place: { workspace: "W", channel: "a thread", parent: { id: channel, name: channel }, ...more },
  };
}

/** Of a channel that people of another organisation read, too. */
const OUTSIDE = { isExternal: true } as const;
const CONNECT = { workspace: "W", channel: "connect", parent: null, ...OUTSIDE };

/** Nobody has said anything there: all of it is in view. */
const NEW_PLACES: Readonly<Record<string, Place>> = {
  "new-public": { kind: "channel", isPrivate: false },
  "new-private": { kind: "channel", isPrivate: true },
  "new-under-public": threadOf("public"),
  "new-under-private": threadOf("private"),
  "new-dm": { kind: "dm" },
  "new-connect": { kind: "channel", isPrivate: false, place: CONNECT },
};

const PLACES: Readonly<Record<string, Place>> = {
  public: { kind: "channel", isPrivate: false },
  square: { kind: "channel", isPrivate: false },
  private: { kind: "channel", isPrivate: true },
  closed: { kind: "channel", isPrivate: true },
  // What a platform tells of a group DM.
  group: { kind: "channel", isPrivate: true },
  untold: { kind: "channel" },
  dm: { kind: "dm" },
  // Slack tells of a thread in a direct message as of another one.
  "under-dm": { kind: "dm" },
  connect: { kind: "channel", isPrivate: false, place: CONNECT },
  "under-connect": threadOf("connect", OUTSIDE),
  // The same people in another workspace.
  abroad: { kind: "channel", isPrivate: false, workspace: "V" },
  "under-public": threadOf("public"),
  "under-private": threadOf("private"),
};

/** Where the secret of a place may show. */
const SEEN: Readonly<Record<string, readonly string[]>> = {
  public: ["public", "square", "private", "closed", "group", "untold", "under-public", "under-private"],
  private: ["private", "under-private"],
  connect: [
    "connect",
    "public",
    "square",
    "private",
    "closed",
    "group",
    "untold",
    "under-public",
    "under-private",
    "under-connect",
  ],
};

async function say(weir: TestWeir, room: string, words: string, addressed = false): Promise<void> {
  const place = PLACES[room];
  assert.ok(place !== undefined);
  await weir.say(words, { room, workspace: "W", ...place, addressed });
}

/** In each place somebody tells a secret, which is remembered, and is out of view. */
async function tellSecrets({ open }: Scene, weir: TestWeir): Promise<void> {
  for (const room of Object.keys(PLACES)) {
    const statement = `The code of the safe is zxq${room}.`;
    await say(weir, room, statement);
    const row = await weir.daemon.store.channels.find({ platform: "test", name: room });
    assert.ok(row);
    await rememberIn(open, row.id, { statement, sources: [{ seq: row.lastSeq, quote: statement }] });
    await (await weir.daemon.registry.get(row.id)).reset();
  }
  await indexAll(open.store.search);
}

/** Everything that is told in a place: by commands, and to the model, of what is recalled and of what tools bring. */
async function toldIn({ server }: Scene, weir: TestWeir, room: string): Promise<string> {
  const told: string[] = [];
  const before = server.requests.length;
  let isFirst = true;
  script(
    server,
    () => text("a summary"),
    () => {
      const call = { query: "the code of the safe" };
      const answer = isFirst
        ? toolCalls(["search_history", "memory_recall"].map((name) => ({ name, arguments: call })))
        : text("noted", { usage: "none" });
      isFirst = false;
      return answer;
    },
  );
  await ask(weir, server, room, "what is the code of the safe?");
  for (const asker of [ANN, BEN]) {
    for (const typed of ["learned", "recap", "export", "usage", "reminders", "approvals", "agents", "help"])
      told.push(JSON.stringify(await commandAnswer(weir, room, typed, asker)));
    for (const typed of [
      "memory",
      "memory the code of the safe",
      "why",
      "forget",
      "status",
      "context",
      "context list",
      "context detail system",
      "context detail tools",
      "context detail dynamic",
      "context detail history",
    ])
      told.push(await command(weir, room, typed, asker));
  }
  // Ann, who has told all secrets, is told her own words in a direct message.
  told.push(await command(weir, room, "memory me", BEN));
  return JSON.stringify([told, server.requests.slice(before).map(({ body }) => body)]);
}

test("a secret of a place shows in no place whose people were not told it, whatever is asked there", async () => {
  await using scene = await openScene();
  await using weir = await scene.start({}, undefined, { sharesMemory: true });
  await tellSecrets(scene, weir);
  for (const room of Object.keys(PLACES))
    assert.match(
      await command(weir, room, `remind in 3 days The code of the safe is zxq${room}.`, ANN),
      /^Reminder \d+ is set/,
    );
  for (const room of Object.keys(PLACES)) {
    const told = await toldIn(scene, weir, room);
    for (const from of Object.keys(PLACES)) {
      const may = (SEEN[from === "square" ? "public" : from] ?? [from]).includes(room);
      if (from === "square" && room.startsWith("under-")) continue;
      assert.equal(told.includes(`zxq${from}.`), may, `what was told in ${from}, in ${room}`);
    }
  }
});

const SUBAGENTS = "[agents.subagents]\nenabled = true\n";
const HELPERS = THREE.replaceAll(/(?=\n\[\[agents\]\]|$)/g, `\n${SUBAGENTS}`).replace(`\n${SUBAGENTS}`, "");
const LOOKS = ["search_history", "memory_recall"].map((name) => ({
  name,
  arguments: { query: "the code of the safe" },
}));

const ENDS = ["researcher-model", "subagent of main-model", "subagent of researcher-model"];

/** The agent of the place has a subagent look, then hands over to another one, which looks as well, and has a subagent look. */
function lookThrough({ server }: Together, task: string, message: string): ReadonlySet<string> {
  const steps: Readonly<Record<string, Behaviour[]>> = {
    "main-model": [
      spawn(task),
      toolCalls([{ name: "hand_off", arguments: { agent: "researcher", message } }]),
    ],
    "researcher-model": [toolCalls(LOOKS), spawn(task)],
    "subagent of main-model": [toolCalls(LOOKS)],
    "subagent of researcher-model": [toolCalls(LOOKS)],
  };
  const did = new Set<string>();
  server.respond((request) => {
    const who = isSubagents(request) ? `subagent of ${request.model}` : (request.model ?? "");
    const next = steps[who]?.shift();
    if (next === undefined) did.add(who);
    return next ?? text("done");
  });
  return did;
}

/** Waits until a place's agents, and their subagents, have looked and rest. */
async function settled(
  { sql }: Pick<OpenStore, "sql">,
  room: string,
  did: ReadonlySet<string>,
): Promise<void> {
  await until(`rest in ${room}`, async () => {
    if (!ENDS.every((one) => did.has(one))) return false;
    const [row] = await sql<{ left: number }>(
      `select (select count(*) from turns t where t.channel_id = c.id and t.settled_at is null)
            + (select count(*) from subagents s where s.channel_id = c.id and s.closed_at is null) as left
         from channels c where c.name = $1`,
      room,
    );
    return Number(row?.left) === 0;
  });
}

/** In each place a secret is said, another one handed over, and a third one is a subagent's task; two are remembered. */
async function passSecrets(together: Together, open: OpenStore, weir: TestWeir): Promise<void> {
  for (const room of Object.keys(PLACES)) {
    const [statement, handed] = ["zxq", "zxh"].map((word) => `The code of the safe is ${word}${room}.`);
    assert.ok(statement !== undefined && handed !== undefined);
    const did = lookThrough(together, `The code of the safe is zxs${room}.`, handed);
    await say(weir, room, statement);
    await say(weir, room, "look for it", true);
    await settled(open, room, did);
    const row = await weir.daemon.store.channels.find({ platform: "test", name: room });
    assert.ok(row);
    const [entry] = await open.sql<{ seq: number }>(
      "select seq from entries where channel_id = $1 and message_id like 'handoff/%'",
      row.id,
    );
    assert.ok(entry !== undefined, room);
    await rememberIn(open, row.id, { statement, sources: [{ seq: 1, quote: statement }] });
    await rememberIn(open, row.id, { statement: handed, sources: [{ seq: entry.seq, quote: handed }] });
    await (await weir.daemon.registry.get(row.id)).reset();
  }
  await indexAll(open.store.search);
}

test("a secret that is handed over, or told to a subagent, shows in no place whose people were not told it", async () => {
  await using together = await openTogether();
  await using weir = await together.start({
    config: HELPERS,
    also: ["researcher"],
    binding: { sharesMemory: true },
  });
  await using open = openStore(together.connection);
  await passSecrets(together, open, weir);
  const { server } = together;
  for (const room of Object.keys(PLACES)) {
    const did = lookThrough(together, "Find the code of the safe.", "Find the code of the safe.");
    const before = server.requests.length;
    await say(weir, room, "what is the code of the safe?", true);
    await settled(open, room, did);
    const asked = server.requests.slice(before).map(({ body }) => body);
    const told = [JSON.stringify(asked)];
    for (const typed of ["subagents", "agents", "why", "context", "memory the code of the safe"])
      told.push(await command(weir, room, typed, BEN));
    const all = told.join("\n");
    for (const from of Object.keys(PLACES)) {
      const may = (SEEN[from === "square" ? "public" : from] ?? [from]).includes(room);
      if (from === room || (from === "square" && room.startsWith("under-"))) continue;
      for (const kind of ["zxq", "zxh"])
        assert.equal(all.includes(`${kind}${from}.`), may, `${kind}: what was told in ${from}, in ${room}`);
      // A task is worked on, and remembered nowhere.
      if (!may) assert.ok(!all.includes(`zxs${from}.`), `a task of ${from}, in ${room}`);
    }
  }
});

function isDelivered({ events }: TestWeir, room: string): boolean {
  return events.some((event) => event.type === "reply_delivered" && event.channel === `test:${room}`);
}

/** Which places' secrets the first request of a new place holds, of the two places that have threads. */
async function firstToldIn({ server }: Scene, weir: TestWeir, room: string): Promise<string[]> {
  script(
    server,
    () => text("a summary"),
    () => text("noted", { usage: "none" }),
  );
  const before = server.requests.length;
  await weir.say("what is the code of the safe?", {
    room,
    workspace: "W",
    ...NEW_PLACES[room],
    addressed: true,
  });
  await weir.event("reply_delivered", () => isDelivered(weir, room));
  const told = JSON.stringify(server.requests[before]?.body);
  return ["public", "private"].filter((from) => told.includes(`zxq${from}.`));
}

test("memories of elsewhere are recalled in a place where nothing was summarised yet, as far as they may show there", async () => {
  const seen: Record<"shared" | "apart", Record<string, string[]>> = { shared: {}, apart: {} };
  for (const how of ["shared", "apart"] as const) {
    await using scene = await openScene();
    await using weir = await scene.start({}, undefined, { sharesMemory: how === "shared" });
    await tellSecrets(scene, weir);
    for (const room of Object.keys(NEW_PLACES)) seen[how][room] = await firstToldIn(scene, weir, room);
  }
  assert.deepEqual(seen, {
    shared: {
      "new-public": ["public"],
      "new-private": ["public"],
      "new-under-public": ["public"],
      "new-under-private": ["public", "private"],
      "new-dm": [],
      "new-connect": [],
    },
    apart: {
      "new-public": [],
      "new-private": [],
      "new-under-public": ["public"],
      "new-under-private": ["private"],
      "new-dm": [],
      "new-connect": [],
    },
  });
});

test("what was shared is told nowhere else from the moment on at which its channel is private", async () => {
  await using scene = await openScene();
  await using weir = await scene.start({}, undefined, { sharesMemory: true });
  await tellSecrets(scene, weir);
  const elsewhere = ["square", "private", "closed", "under-private"];
  for (const room of elsewhere) assert.ok((await toldIn(scene, weir, room)).includes("zxqpublic."), room);
  void weir.daemon.inbox.meetChannels("test", [
    { channel: { platform: "test", name: "public" }, isPrivate: true },
  ]);
  while ((await weir.daemon.store.channels.find({ platform: "test", name: "public" }))?.isPrivate !== true);
  for (const room of elsewhere) assert.ok(!(await toldIn(scene, weir, room)).includes("zxqpublic."), room);
  for (const room of ["public", "under-public"])
    assert.ok((await toldIn(scene, weir, room)).includes("zxqpublic."), room);
});

test("what was said in private is told nowhere else where it is summarised once the channel is public", async () => {
  for (const wasPrivate of [true, false]) {
    await using scene = await openScene();
    const { open, server } = scene;
    const address = { platform: "test", name: "public" };
    const place = { kind: "channel", workspace: "W", agent: agentId("main") } as const;
    await open.store.channels.open({ address, ...place, isPrivate: wasPrivate, sharesMemory: true });
    const secret = "The code of the safe is zxqpublic.";
    await fillTo(scene, "public", BACKGROUND, {}, (number) => (number === 5 ? secret : reading(number)));
    await open.store.channels.tellPrivacy("test", [{ channel: address, isPrivate: false }]);
    await using weir = await scene.start({}, undefined, { sharesMemory: true });
    script(server, ({ messages, tools }) => {
      const line = /(\d+)\. \[[^\]]*\] (?:Ann: )?The code of the safe/.exec(
        messages.map((one) => one.content).join("\n"),
      );
      if (line === null || tools === undefined || messages.some(({ role }) => role === "tool"))
        return text("They measured the river.");
      const memory = {
        type: "fact",
        subject: "the safe",
        statement: secret,
        quote: secret,
        sources: [Number(line[1])],
      };
      return toolCalls([{ name: "memory_save", arguments: { memories: [memory] } }]);
    });
    await ask(weir, server, "public", "how deep is it?");
    assert.equal((await compaction(weir, "public", "committed")).memories, 1);
    for (const room of ["public", "square"]) {
      const before = server.requests.length;
      await say(weir, room, "what is the code of the safe?", true);
      await weir.platform.until(() => server.requests.length > before);
      const asked = JSON.stringify(server.requests.slice(before).map(({ body }) => body));
      const told = `${asked}\n${await command(weir, room, "memory", BEN)}`;
      assert.equal(told.includes("zxqpublic"), room === "public" || !wasPrivate, `${room}, ${wasPrivate}`);
    }
  }
});

test("where nothing is shared a public channel's memories stay there and in its threads", async () => {
  await using scene = await openScene();
  await using weir = await scene.start();
  await tellSecrets(scene, weir);
  for (const room of Object.keys(PLACES))
    assert.equal(
      (await toldIn(scene, weir, room)).includes("zxqpublic."),
      room === "public" || room === "under-public",
      room,
    );
});

test("another agent's memories show where one's own would, to the agent to which they are opened, and to no other", async () => {
  await using scene = await openScene();
  const { open } = scene;
  // What the other agent has remembered, in places that are answered by the first one now.
  const other = agentId("other");
  for (const [name, place] of Object.entries(PLACES)) {
    const address = { platform: "test", name };
    const described = { workspace: "W", ...place, kind: place.kind ?? "channel", agent: other };
    const id = await open.store.channels.open({ address, ...described, sharesMemory: true });
    const statement = `The code of the safe is zxq${name}.`;
    const seq = await open.say(id, statement, { addressed: false });
    await rememberIn(open, id, { statement, sources: [{ seq, quote: statement }] });
  }
  const start = async (shared: string): Promise<TestWeir> =>
    scene.start(
      {
        top: `[[agents]]\nid = "other"\nmodel = "test-model"\n${shared === "other" ? 'shared_memory = ["main"]' : ""}`,
        agent: shared === "main" ? 'shared_memory = ["other"]' : "",
      },
      undefined,
      { agent: agentId("main"), sharesMemory: true },
    );
  for (const shared of ["none", "other", "main", "none"]) {
    await using weir = await start(shared);
    for (const room of Object.keys(PLACES)) {
      await say(weir, room, "hello");
      const row = await weir.daemon.store.channels.find({ platform: "test", name: room });
      assert.ok(row?.agent === "main");
      await (await weir.daemon.registry.get(row.id)).reset();
    }
    await indexAll(open.store.search);
    for (const room of Object.keys(PLACES)) {
      const told = await memoriesToldIn(scene, weir, room);
      for (const from of Object.keys(PLACES)) {
        if (from === "square" && room.startsWith("under-")) continue;
        const may = shared === "main" && (SEEN[from === "square" ? "public" : from] ?? [from]).includes(room);
        assert.equal(
          told.includes(`zxq${from}.`),
          may,
          `what was told in ${from}, in ${room}, opened to ${shared}`,
        );
      }
    }
  }
});

/** What commands and the agent's memory are told in a place; its own log has the same words. */
async function memoriesToldIn(scene: Scene, weir: TestWeir, room: string): Promise<string> {
  const told: string[] = [];
  for (const asker of [ANN, BEN])
    for (const typed of ["memory", "memory the code of the safe", "forget"])
      told.push(await command(weir, room, typed, asker));
  const row = await weir.daemon.store.channels.find({ platform: "test", name: room });
  assert.ok(row);
  const { agent, id: channel, workspace, kind } = row;
  const recall = new RecallMemories({
    memories: scene.open.store.memories,
    search: scene.open.store.search,
    now: () => new Date(),
  });
  const found = await recall.find({
    agent,
    channel,
    workspace,
    kind,
    askers: [],
    text: "the code of the safe",
    limit: 50,
  });
  const ids = found.map(({ id }) => id);
  const later = await scene.open.store.past.statements(channel, ids);
  assert.equal(later.size, ids.length, "what was recalled stands in what is told later");
  return JSON.stringify([told, found]);
}

async function inMemory({ daemon }: TestWeir, room: string): Promise<string> {
  const row = await daemon.store.channels.find({ platform: "test", name: room });
  assert.ok(row);
  const { entries } = await (await daemon.registry.get(row.id)).history.snapshot();
  assert.ok(entries.some(({ kind }) => kind === "tool_call"));
  return JSON.stringify(entries);
}

test("a deletion and an edit take what a thread's model called a tool with after it was shown a memory of the channel", async () => {
  for (const change of ["deletion", "edit"] as const) {
    await using scene = await openScene();
    const { open, server } = scene;
    await using weir = await scene.start();
    await tellSecrets(scene, weir);
    let isFirst = true;
    script(
      server,
      () => text("a summary"),
      () => {
        const call = { name: "search_history", arguments: { query: "is it zxqpublic, the code" } };
        const answer = isFirst ? toolCalls([call]) : text("noted", { usage: "none" });
        isFirst = false;
        return answer;
      },
    );
    await ask(weir, server, "under-public", "what is the code of the safe?");
    const calls = "select data::text as told from entries where kind = 'tool_call'";
    assert.match((await open.sql<{ told: string }>(calls))[0]?.told ?? "", /zxqpublic/);
    const [source] = await open.sql<{ id: string }>(
      "select message_id as id from entries where text like '%zxqpublic.%' limit 1",
    );
    assert.ok(source !== undefined);
    const taken = { platform: "test", id: source.id, at: new Date() };
    await weir.daemon.inbox.receive(
      change === "edit" ? { type: "edit", text: "Never mind.", ...taken } : { type: "deletion", ...taken },
    );
    assert.deepEqual(await rowsWith(open, "zxqpublic"), [], change);
    // Before a further turn asks the log.
    assert.doesNotMatch(await inMemory(weir, "under-public"), /zxqpublic/, change);
    const before = server.requests.length;
    await ask(weir, server, "under-public", "and how does one open it?");
    assert.doesNotMatch(JSON.stringify(server.requests.slice(before).map(({ body }) => body)), /zxqpublic/);
  }
});

for (const when of ["before the deletion", "after it"] as const) {
  test(`what a running turn of a thread calls a tool with ${when} tells nothing of the memory, whoever deletes it`, async () => {
    await using scene = await openScene();
    const { open, server } = scene;
    await using weir = await scene.start();
    await tellSecrets(scene, weir);
    const held = hold();
    const calls = toolCalls([{ name: "search_history", arguments: { query: "is it zxqpublic, the code" } }], {
      text: "I look for zxqpublic.",
    });
    const steps = when === "after it" ? [held.behaviour] : [calls, held.behaviour];
    script(
      server,
      () => text("a summary"),
      () => steps.shift() ?? text("noted", { usage: "none" }),
    );
    const before = server.requests.length;
    const asking = ask(weir, server, "under-public", "what is the code of the safe?");
    await server.received(before + steps.length);
    await until("the request that is held", () => steps.length === 0);
    assert.match(JSON.stringify(server.requests.at(-1)?.body.messages), /zxqpublic/);
    const [source] = await open.sql<{ id: string; channelId: number }>(
      "select message_id as id, channel_id from entries where kind = 'user' and text like '%zxqpublic.%' limit 1",
    );
    assert.ok(source !== undefined);
    // By another daemon: nobody tells the turn of it.
    await open.store.log.delete(channelId(source.channelId), source.id, TEST_DIGESTER);
    held.release(when === "after it" ? calls : text("noted", { usage: "none" }));
    await asking;
    const made = await open.sql<{ name: string; arguments: string }>(
      "select c->>'name' as name, c->>'arguments' as arguments from entries e, jsonb_array_elements(e.data->'calls') c where e.kind = 'tool_call'",
    );
    assert.deepEqual(made, [{ name: "search_history", arguments: "{}" }]);
    assert.deepEqual(await rowsWith(open, "zxqpublic"), []);
  });
}
