// proves: src/admin/commands/memory.ts, src/admin/commands/command.ts, src/store/memory/cited-memories.ts
// What people are told of what is remembered, by what it is about, and of themselves.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type AgentId, agentId, type ChannelId, memoryId } from "../../../src/core/ids.ts";
import type { ChannelKind, Place } from "../../../src/core/message.ts";
import { rememberIn } from "../../store/remember.ts";
import { ANN, authorOf, BEN, command } from "../../support/commands.ts";
import { openScene, type Scene } from "../../support/compaction.ts";

interface Described {
  readonly kind?: ChannelKind;
  readonly place?: Place;
  readonly isPrivate?: boolean;
  readonly agent?: AgentId;
  readonly platform?: string;
}

async function open(scene: Scene, name: string, described: Described = {}): Promise<ChannelId> {
  const { platform = "test", kind = "channel", agent = agentId("main"), ...rest } = described;
  return scene.open.store.channels.open({
    address: { platform, name },
    kind,
    workspace: "w",
    agent,
    ...rest,
  });
}

let count = 0;

/** Somebody says something, and it is remembered. @returns the memory's number */
async function tell(
  { open: log }: Scene,
  channel: ChannelId,
  words: string,
  who = ANN,
  overrides: object = {},
): Promise<number> {
  const at = new Date("2026-11-21T09:00:00Z");
  const seq = await log.say(channel, words, {
    id: `said-${++count}`,
    addressed: false,
    author: authorOf(who),
    at,
  });
  return rememberIn(log, channel, {
    statement: words,
    subject: who.name,
    assertedBy: who.name,
    sources: [{ seq, quote: words }],
    ...overrides,
  });
}

test("/memory QUERY: what fits, best first, with the words, a link and where it shows", async () => {
  await using scene = await openScene();
  const parent = { id: "square", name: "square" };
  const square = await open(scene, "square");
  const thread = await open(scene, "nook", {
    kind: "thread",
    place: { workspace: "W", channel: "nook", parent },
  });
  const first = await tell(scene, square, "The mill grinds rye on Mondays.");
  const other = await tell(scene, square, "Rye bread is baked in the old oven.", BEN);
  const own = await tell(scene, thread, "The mill wheel is new.");
  await tell(scene, square, "The geese are fed at noon.", BEN);
  await using weir = await scene.start();
  const told = await command(weir, "square", "memory when does the mill grind rye?");
  assert.equal(
    told,
    [
      'Remembered here about "when does the mill grind rye?": 2 statements, the best first.',
      `- #${first} The mill grinds rye on Mondays.`,
      "  fact · Ann, 2026-11-21, 1 proof, shows in this channel and its threads",
      `  Ann, 2026-11-21 09:00: "The mill grinds rye on Mondays." https://test.example/square/said-${count - 3}`,
      `- #${other} Rye bread is baked in the old oven.`,
      "  fact · Ben, 2026-11-21, 1 proof, shows in this channel and its threads",
      `  Ben, 2026-11-21 09:00: "Rye bread is baked in the old oven." https://test.example/square/said-${count - 2}`,
    ].join("\n"),
  );
  const inThread = await command(weir, "nook", "memory mill");
  assert.match(inThread, new RegExp(`#${own} [^\n]*\n[^\n]*, shows in this thread alone\n`));
  assert.match(
    inThread,
    new RegExp(
      `#${first} [^\n]*\n[^\n]* · from the channel of this thread, shows in this thread's channel and its threads\n`,
    ),
  );
  assert.equal(
    await command(weir, "square", "memory zxqnothing"),
    'Nothing that is remembered here fits "zxqnothing". /memory lists the newest.',
  );
});

test("/memory QUERY: what fits only what was so before is found with what holds, until when it was so", async () => {
  await using scene = await openScene();
  const { store } = scene.open;
  const square = await open(scene, "square");
  const before = await tell(scene, square, "Ann lives in Berlin.");
  const now = await tell(scene, square, "Ann has found a flat by the Isar.");
  const fresh = memoryId(now);
  const revision = { fresh, older: memoryId(before), change: "replaces" as const };
  assert.equal(await store.revisions.revise(square, fresh, [revision]), 1);
  await using weir = await scene.start();
  const told = await command(weir, "square", "memory Berlin");
  assert.match(told, /^Remembered here about "Berlin": 2 statements, 1 of them ended, the best first\.\n/);
  assert.match(
    told,
    new RegExp(
      `- #${now} Ann has found a flat.*\n.*\n.*\n- #${before} Ann lives in Berlin\\.\n  fact · Ann, 2026-11-21 until `,
    ),
  );
  // The replaced one holds again, and stands for itself.
  await scene.open.sql("select forget_memory($1, $2)", square, now);
  const again = await command(weir, "square", "memory Berlin");
  assert.match(again, new RegExp(`: 1 statement, the best first\\.\n- #${before} Ann lives in Berlin`));
});

test("/memory QUERY: what holds is all there, whatever it has replaced", async () => {
  await using scene = await openScene();
  const square = await open(scene, "square");
  const holding: number[] = [];
  for (let index = 0; index < 10; index++) {
    const old = await tell(scene, square, `Mill number ${index} grinds oats.`);
    const now = await tell(scene, square, `Mill number ${index} grinds rye by now.`);
    const revision = { fresh: memoryId(now), older: memoryId(old), change: "replaces" as const };
    assert.equal(await scene.open.store.revisions.revise(square, memoryId(now), [revision]), 1);
    holding.push(now);
  }
  await using weir = await scene.start();
  const told = await command(weir, "square", "memory which mill grinds?");
  assert.match(told, /: 15 statements, 5 of them ended, /);
  for (const id of holding) assert.ok(told.includes(`- #${id} `), String(id));
});

test("/memory QUERY: of a shared memory it says that the whole server sees it", async () => {
  await using scene = await openScene();
  await using weir = await scene.start({}, undefined, { sharesMemory: true });
  const said = { workspace: "w", isPrivate: false, addressed: false };
  await weir.say("hello", { room: "square", ...said });
  await weir.say("hello", { room: "market", ...said });
  const row = await weir.daemon.store.channels.find({ platform: "test", name: "square" });
  assert.ok(row);
  const id = await tell(scene, row.id, "The mill grinds rye.", BEN);
  for (const [room, from] of [
    ["square", ""],
    ["market", " · from another channel"],
  ] as const)
    assert.match(
      await command(weir, room, "memory rye"),
      new RegExp(`- #${id} .*\n  fact · Ben, \\S+, 1 proof${from}, shows in all channels of this server\n`),
    );
});

test("/memory me: what the asker has said, by id, or is about them; elsewhere's only in a DM, and only their own words", async () => {
  await using scene = await openScene();
  const square = await open(scene, "square");
  const closet = await open(scene, "closet", { isPrivate: true, agent: agentId("other") });
  const dm = await open(scene, "dm", { kind: "dm" });
  const bens = await open(scene, "bens", { kind: "dm" });
  const foreign = await open(scene, "foreign", { platform: "discord" });
  const mine = await tell(scene, square, "I like zxqtea.");
  const about = await tell(scene, square, "Ann plays the zxqflute.", BEN, { subject: "ann" });
  await tell(scene, square, "It zxqrains.", BEN);
  const private_ = await tell(scene, closet, "my zxqcode is blue", ANN, {
    statement: "Ann agrees with Ben that the zxqdeal is off.",
  });
  const answer = await scene.open.say(closet, "the zxqdeal is off, says Ben", {
    id: "ben",
    addressed: false,
    author: authorOf(BEN),
  });
  const both = await tell(scene, closet, "yes, the zxqshared one", ANN);
  await scene.open.sql(
    "insert into memory_sources (memory_id, channel_id, seq, quote) values ($1, $2, $3, 'the zxqdeal is off')",
    both,
    closet,
    answer,
  );
  await tell(scene, bens, "Ben keeps a zxqdiary.", BEN);
  await tell(scene, foreign, "somebody with the same zxqid");
  const inDm = await tell(scene, dm, "I am zxqtired.");
  const aside = await tell(scene, square, "The dam leaks.", ANN, { subject: "the dam" });
  await using weir = await scene.start();

  const here = await command(weir, "square", "memory me");
  assert.deepEqual(
    [...here.matchAll(/^- #(\d+) /gm)].map(([, number]) => Number(number)),
    [about, mine, aside],
  );
  assert.match(here, /^Your page here: 2 statements, by kind\.$/m);
  assert.match(here, /^Also remembered here of you: 1 statement, the newest first\.$/m);
  assert.match(here, /elsewhere, \/memory me tells you in a direct message\.$/);

  const alone = await command(weir, "dm", "memory about me");
  assert.match(alone, /^Your page here: 1 statement, by kind\./);
  assert.match(alone, new RegExp(`- #${inDm} I am zxqtired\\.\n.*, shows in this conversation alone\n`));
  assert.match(alone, /Your words that are remembered of other places: 3 statements/);
  assert.match(
    alone,
    new RegExp(
      `- #${private_} in .*closet.*, shows in that channel and its threads\n  2026-11-21 09:00: "my zxqcode is blue" https://`,
    ),
  );
  assert.match(alone, new RegExp(`- #${mine} in .*square.*\n.*"I like zxqtea\\."`));
  for (const word of ["zxqdeal", "zxqshared", "zxqdiary", "zxqrains", "zxqflute", "zxqid"])
    assert.doesNotMatch(alone, new RegExp(word), word);
  // A namesake is somebody else.
  const fake = await command(weir, "dm", "memory me", { ...ANN, id: "u-fake" });
  assert.doesNotMatch(fake, /zxqcode|zxqtea/);
});
