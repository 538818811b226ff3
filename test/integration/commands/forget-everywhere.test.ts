// proves: src/admin/commands/forget.ts, src/admin/commands/forget-person.ts, src/store/deletion/personal-data.ts, src/router/redact-messages.ts
// What a person takes back by words, and wherever they were heard.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { agentId, type ChannelId, memoryId } from "../../../src/core/ids.ts";
import type { ChannelKind } from "../../../src/core/message.ts";
import type { Memory } from "../../../src/core/memory.ts";
import { memoriesWith } from "../../../src/admin/commands/forget.ts";
import { foldBehind, rememberIn } from "../../store/remember.ts";
import { rowsWith } from "../../store/rows-with.ts";
import { ANN, authorOf, BEN, command } from "../../support/commands.ts";
import { OWNED, OWNER } from "../../support/owners.ts";
import { checkFold, hold, openScene, quiet, type Scene, script } from "../../support/compaction.ts";
import { OURS, SUMMARY, summariseAndNote, talk, THEIRS } from "../../support/forgotten-person.ts";
import { textsBelow } from "../../support/texts-below.ts";
import type { TestWeir } from "../../support/weir.ts";
import { text } from "../../support/model-behaviours.ts";

async function place(
  { open }: Scene,
  name: string,
  kind: ChannelKind = "channel",
  platform = "test",
): Promise<ChannelId> {
  return open.store.channels.open({
    address: { platform, name },
    kind,
    workspace: "w",
    agent: agentId("main"),
  });
}

let count = 0;

async function tell({ open }: Scene, channel: ChannelId, words: string, who = ANN): Promise<number> {
  const id = `told-${++count}`;
  const seq = await open.say(channel, words, { id, addressed: false, author: authorOf(who) });
  return rememberIn(open, channel, {
    statement: words,
    subject: who.name,
    assertedBy: who.name,
    sources: [{ seq, quote: words }],
  });
}

async function statements({ open }: Scene): Promise<unknown[]> {
  const rows = await open.sql("select statement from memories order by id");
  return rows.map(({ statement }) => statement);
}

test("a memory fits a query if it has all of its words, whatever their endings", () => {
  const memory = {
    id: memoryId(1),
    type: "fact",
    scope: "channel",
    subject: "the mill",
    assertedBy: "Ann",
    statement: "Rye is ground on Mondays.",
    importance: 0.5,
    at: new Date(0),
    proofs: 1,
  } as const;
  for (const query of ["rye", "the mill of Monday", "what did Ann say about rye?", "MILLS"])
    assert.equal(memoriesWith(query, [memory]).length, 1, query);
  for (const query of ["", "the", "rye bread", "Ben"])
    assert.equal(memoriesWith(query, [memory]).length, 0, query);
});

test("a memory fits a query in any script, however it is typed", () => {
  const memoryWith = (statement: string): Memory => ({
    id: memoryId(1),
    type: "fact",
    scope: "channel",
    subject: "it",
    assertedBy: "Ann",
    statement,
    importance: 0.5,
    at: new Date(0),
    proofs: 1,
  });
  for (const [query, statement] of [
    ["寿司", "アンは寿司が好きです。"],
    ["猫", "アンは猫を飼っている。"],
    ["ねこ", "ねこが好き"],
    ["قهوة", "أنا أحب القهوة في الصباح"],
    ["القهوة", "أحب الْقَهْوَةَ"],
    ["كتاب", "كـــتاب جديد"],
    ["שלום", "הוא אמר שָׁלוֹם"],
    ["서울", "나는 서울에 산다"],
    ["กรุงเทพ", "อยู่กรุงเทพมหานคร"],
    ["🍣", "Ann loves 🍣"],
    ["👨‍👩‍👧", "the family 👨‍👩‍👧 moves"],
    ["❤", "she is ❤\ufe0f"],
    ["code zxq77", "The co\u200bde is zxq\u034f77"],
    ["zxq\u200b77", "The code is zxq77"],
    ["4711", "the number ٤٧١١"],
    ["٤٧١١", "the number 4711"],
    ["codigo", "el código postal"],
    ["STRASSE", "die Straße am Markt"],
    ["finance", "the \ufb01nance team"],
    ["café", "the cafe\u0301"],
  ] as const) {
    assert.equal(memoriesWith(query, [memoryWith(statement)]).length, 1, `${query} in ${statement}`);
    assert.equal(memoriesWith(query, [memoryWith("Rye is ground on Mondays.")]).length, 0, query);
  }
  for (const [query, statement] of [
    ["art", "a party"],
    ["\u200b", "The co\u200bde"],
    ["犬", "アンは猫を飼っている。"],
    ["🍕", "Ann loves 🍣"],
    ["471", "the number 4711"],
    ["ن", "أنا أحب القهوة"],
  ] as const)
    assert.equal(memoriesWith(query, [memoryWith(statement)]).length, 0, `${query} in ${statement}`);
});

test("/forget QUERY: takes the one that has all the words; shows several first; nothing of others, but for owners", async () => {
  await using scene = await openScene();
  const mill = await place(scene, "mill", "channel", "discord");
  await tell(scene, mill, `The mill grinds rye, ${OURS}.`);
  await tell(scene, mill, "The mill wheel is new.");
  await tell(scene, mill, "The mill is Ben's, he says.", BEN);
  await tell(scene, mill, "The oven is hot.");
  await using weir = await scene.start({ top: OWNED });
  const say = async (typed: string, who = ANN): Promise<string> =>
    command(weir, "mill", typed, who, "discord");

  assert.match(
    await say("forget the oven of the mill"),
    /^Nothing that you may forget here has all words of "the oven of the mill"\.\n\/forget NUMBER forgets.*\nYours here: 3 statements/,
  );
  assert.match(
    await say("forget Ben's mill"),
    /^Nothing that you may forget here has all words of "Ben's mill"\.\n/,
  );
  const warning = await say("forget mill");
  assert.match(
    warning,
    /^2 statements have all words of "mill":\n- #\d+ The mill wheel is new\.\n.*\n- #\d+ The mill grinds rye, zxqann\.\n/,
  );
  assert.match(
    warning,
    /This cannot be undone\. \/forget NUMBER forgets one of them, \/forget mill yes all\.$/,
  );
  assert.equal((await statements(scene)).length, 4);

  assert.match(
    await say("forget rye at the mill"),
    /^Forgotten: #\d+, "The mill grinds rye, zxqann\."\. 1 message that it came from lost its text/,
  );
  assert.deepEqual(await rowsWith(scene.open, OURS), []);
  assert.equal((await statements(scene)).length, 3);
  assert.match(await say("forget mill", OWNER), /^2 statements have all words/);
  assert.equal(
    await say("forget MILL  yes", OWNER),
    "Forgotten: 2 statements. 2 messages that they came from lost their text, in the log and in summaries.",
  );
  assert.deepEqual(await statements(scene), ["The oven is hot."]);
});

test("/forget NUMBER in a DM: takes back own words of another place, and tells no statement that was made of them", async () => {
  await using scene = await openScene();
  const [mill, dm] = [await place(scene, "mill"), await place(scene, "dm", "dm")];
  const id = await tell(scene, mill, `I keep ${OURS} there.`);
  const bens = await tell(scene, mill, `I keep ${THEIRS} there.`, BEN);
  await scene.open.sql(
    "update memories set statement = 'Ann hides what Ben knows.', agent = 'gone' where id = $1",
    id,
  );
  await tell(scene, dm, "I am here.");
  await using weir = await scene.start();
  await place(scene, "bens", "dm");
  assert.match(await command(weir, "bens", `forget ${id}`, BEN), /^There is no memory #/);
  assert.match(await command(weir, "dm", `forget ${bens}`), /^There is no memory #/);
  assert.equal(
    await command(weir, "dm", `forget ${id}`),
    `Forgotten: #${id}. 1 message that it came from lost its text, in the log and in summaries.`,
  );
  assert.deepEqual(await rowsWith(scene.open, OURS), []);
  assert.notDeepEqual(await rowsWith(scene.open, THEIRS), []);
});

test("/forget NUMBER in a DM: neither takes nor counts what others say of the same, whoever asks", async () => {
  for (const asker of [ANN, OWNER]) {
    await using scene = await openScene();
    const mill = await place(scene, "mill", "channel", "discord");
    await place(scene, "dm", "dm", "discord");
    const id = await tell(scene, mill, `I keep ${OURS} there.`, asker);
    const bens = await tell(scene, mill, `It keeps ${THEIRS} there.`, BEN);
    await foldBehind(scene.open, id, bens);
    await using weir = await scene.start({ top: OWNED });
    assert.equal(
      await command(weir, "dm", `forget ${id}`, asker, "discord"),
      `Forgotten: #${id}. 1 message that it came from lost its text, in the log and in summaries.`,
    );
    assert.deepEqual(await statements(scene), [`It keeps ${THEIRS} there.`]);
    assert.notDeepEqual(await rowsWith(scene.open, THEIRS), []);
  }
});

/** Ann and Ben talk in a channel until it is summarised, and Ann says something in two others; the agent notes it. */
async function plant(scene: Scene, agentsDir: string): Promise<TestWeir> {
  await mkdir(path.join(agentsDir, "main"), { recursive: true });
  await talk(scene);
  await tell(scene, await place(scene, "dm", "dm"), `I keep a diary, ${OURS}.`);
  const other = await place(scene, "other");
  await tell(scene, other, `I like ${OURS} tea.`);
  await tell(scene, other, `I like ${THEIRS} tea.`, BEN);
  const foreign = await place(scene, "foreign", "channel", "slack");
  await tell(scene, foreign, "a namesake of another platform");
  const weir = await scene.start({ agentsDir });
  await summariseAndNote(scene, weir, agentsDir);
  return weir;
}

/** A model whose next answer waits, and says what it is told to. */
async function holdNext({ server }: Scene, say: () => Promise<unknown>): Promise<(words: string) => void> {
  const held = hold();
  let isHeld = false;
  script(
    server,
    () => text(SUMMARY),
    () => {
      if (isHeld) return text("I do not know", { usage: "none" });
      isHeld = true;
      return held.behaviour;
    },
  );
  const asked = server.requests.length;
  await say();
  while (server.requests.length === asked) await delay(5);
  const told = server.requests.slice(asked).map(({ body }) => body);
  assert.ok(JSON.stringify(told).includes(OURS), "the turn was shown it");
  return (words) => held.release(text(words));
}

test("/forget me everywhere: takes all that the asker has said, in every channel of the platform, out of every row and file", async () => {
  await using scene = await openScene();
  const { open } = scene;
  const folder = await mkdtemp(path.join(tmpdir(), "weir-forget-"));
  try {
    await using weir = await plant(scene, folder);
    const warning = await command(weir, "other", "forget me everywhere");
    assert.match(
      warning,
      /^Everywhere on test that is \d+ messages of yours in 3 places, and 2 memories that nobody else bears\. .*To do it: \/forget me everywhere yes$/,
    );
    const taken = await open.sql("select from entries where deleted_at is not null");
    assert.deepEqual(taken, [], "nothing was done yet");
    // In another channel's running turn, too.
    const answer = await holdNext(scene, async () =>
      weir.say("and now?", { room: "busy", author: authorOf(BEN) }),
    );
    const done = await command(weir, "other", "forget everything about me everywhere yes");
    assert.match(
      done,
      /^Forgotten: \d+ messages of yours in 3 places, and 2 memories\. Their text goes from .*delete them there\.$/,
    );
    assert.equal(/(\d+) messages/.exec(done)?.[1], /(\d+) messages/.exec(warning)?.[1]);
    answer(`it was ${OURS}`);
    await weir.event("turn_settled", ({ channel, turn }) => channel === "test:busy" && turn > 1);
    assert.deepEqual(await rowsWith(open, OURS), []);
    while ((await textsBelow(folder)).some((one) => one.includes(OURS))) await delay(20);
    assert.deepEqual(await statements(scene), [`I like ${THEIRS} tea.`, "a namesake of another platform"]);
    assert.notDeepEqual(await rowsWith(open, THEIRS), []);
    for (const typed of ["forget me everywhere", "forget me everywhere yes"])
      assert.equal(
        await command(weir, "other", typed),
        "There is nothing of yours in any place that I know.",
      );
    await quiet(weir, "busy");
    for (const room of ["busy", "other", "dm"]) await checkFold(weir, room);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test("what a turn of another channel was shown of a forgotten memory is in no answer of it", async () => {
  await using scene = await openScene();
  const { server } = scene;
  await using weir = await scene.start({}, undefined, { sharesMemory: true });
  const said = { workspace: "w", isPrivate: false, addressed: false };
  await weir.say("hello", { room: "square", ...said });
  await weir.say("hello", { room: "market", ...said });
  const square = await weir.daemon.store.channels.find({ platform: "test", name: "square" });
  assert.ok(square);
  // Nothing is recalled while everything that was said is in view.
  await command(weir, "market", "reset");
  const id = await tell(scene, square.id, `The code of the mill is ${OURS}.`);
  const answer = await holdNext(scene, async () =>
    weir.say("what is the code of the mill?", { room: "market", ...said, addressed: true }),
  );
  assert.match(await command(weir, "square", `forget ${id}`), /^Forgotten: #/);
  answer(`It is ${OURS}.`);
  await weir.event("turn_settled", ({ channel }) => channel === "test:market");
  assert.deepEqual(weir.platform.texts("market"), ["I do not know"]);
  assert.ok(!JSON.stringify(server.requests.slice(1).map(({ body }) => body)).includes(OURS));
  assert.deepEqual(await rowsWith(scene.open, OURS), []);
});
