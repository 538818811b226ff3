// proves: src/admin/commands/forget.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { agentId, type ChannelId } from "../../../src/core/ids.ts";
import type { Author, ChannelKind, Place } from "../../../src/core/message.ts";
import { rowsWith } from "../../store/rows-with.ts";
import { ANN, authorOf, BEN, command } from "../../support/commands.ts";
import {
  ask,
  checkFold,
  compaction,
  compactions,
  hold,
  openScene,
  quiet,
  reading,
  said,
  type Scene,
  script,
  summariserAsked,
  summariserRequests,
} from "../../support/compaction.ts";
import { BACKGROUND, fillTo } from "../../support/full-channel.ts";
import { text, toolCalls } from "../../support/model-behaviours.ts";

const OURS = "zxqann";
const THEIRS = "zxqben";
const SUMMARY = "Ann and Ben measure the river each morning; the readings are in the green book.";

/**
 * What Ann and Ben say in turn until a compaction is due: each of Ann's messages has one mark, each of Ben's another.
 * @returns how many each has said
 */
async function talk(scene: Scene, room: string): Promise<{ ofAnn: number; ofBen: number }> {
  const isAnns = (number: number): boolean => number % 2 === 1;
  const words = (number: number): string => `${isAnns(number) ? OURS : THEIRS} ${reading(number)}`;
  const author = (number: number): Author => authorOf(isAnns(number) ? ANN : BEN);
  const count = await fillTo(scene, room, BACKGROUND, {}, words, author);
  return { ofAnn: Math.ceil(count / 2), ofBen: Math.floor(count / 2) };
}

function save(statement: string, quote: string, sources: readonly number[]): object {
  return { type: "fact", subject: "the river", statement, quote, sources };
}

const savesThree = toolCalls([
  {
    name: "memory_save",
    arguments: {
      memories: [
        save("Ann alone says so.", OURS, [3]),
        save("Ben alone says so.", THEIRS, [4]),
        save("Both say that the river stood high.", "the river stood above the old mark", [5, 6]),
      ],
    },
  },
]);

async function statements({ open }: Scene): Promise<unknown[]> {
  const rows = await open.sql("select statement from memories order by id");
  return rows.map(({ statement }) => statement);
}

/** A channel of any kind, beside the daemon. */
async function place({ open }: Scene, name: string, kind: ChannelKind, where?: Place): Promise<ChannelId> {
  const address = { platform: "discord", name };
  return open.store.channels.open({ address, kind, workspace: "w", agent: agentId("main"), place: where });
}

test("/forget me: asks first, then takes all that the asker has said there, out of every row, and leaves the others'", async () => {
  await using scene = await openScene();
  const { server, open } = scene;
  script(server, (request, index) => {
    if (index === 0) return savesThree;
    const isTold = request.messages.some(({ content }) => content?.includes(OURS) === true);
    return text(isTold ? `${OURS} and ${THEIRS}. ${SUMMARY}` : SUMMARY);
  });
  const room = "all";
  const { ofAnn, ofBen } = await talk(scene, room);
  await using weir = await scene.start();
  await ask(weir, server, room, `are you there, ${OURS}?`);
  assert.equal((await compaction(weir, room, "committed")).memories, 3);
  const before = await open.sql("select from entries where deleted_at is null");

  const warning = await command(weir, room, "forget all about me");
  assert.match(
    warning,
    /^In this channel that is \d+ messages of yours, and 1 memory that nobody else bears\. .*To do it: \/forget me yes$/,
  );
  // The readings and the question.
  assert.ok(warning.includes(` ${ofAnn + 1} messages `), warning);
  assert.equal((await open.sql("select from entries where deleted_at is null")).length, before.length);
  assert.notDeepEqual(await rowsWith(open, OURS), []);

  const asked = server.requests.length;
  const redo = hold();
  script(server, () => redo.behaviour);
  const done = await command(weir, room, "forget  me  YES");
  assert.match(
    done,
    /^Forgotten: \d+ messages of yours in this channel, and 1 memory\. .*delete them there\.$/,
  );
  assert.ok(done.includes(` ${ofAnn + 1} messages `), done);
  assert.deepEqual(await rowsWith(open, OURS), [], "at once, and everywhere");
  assert.deepEqual(await statements(scene), ["Ben alone says so.", "Both say that the river stood high."]);
  assert.equal(
    (await open.sql("select from entries where author_id = 'u-ben' and text like '%zxqben%'")).length,
    ofBen,
  );
  assert.equal(await command(weir, room, "forget me"), "There is nothing of yours in this channel.");
  assert.equal(await command(weir, room, "forget me yes"), "There is nothing of yours in this channel.");

  redo.release(text("Written again: the river rose."));
  await compaction(weir, room, "committed", 2);
  await ask(weir, server, room, "and now?");
  for (const { body } of server.requests.slice(asked)) assert.ok(!JSON.stringify(body).includes(OURS));
  await checkFold(weir, room);
});

test("/forget me: during a compaction: what its summariser answers is thrown away, and it is begun anew", async () => {
  await using scene = await openScene();
  const { server, open } = scene;
  const held = hold();
  script(server, (_, index) => (index === 0 ? held.behaviour : text(SUMMARY)));
  const room = "stale";
  const { ofAnn } = await talk(scene, room);
  await using weir = await scene.start();
  await ask(weir, server, room, "are you there?");
  assert.ok(JSON.stringify((await summariserAsked(server, 1)).body).includes(OURS));
  // The readings, the question, and no more: the answer is not Ann's.
  assert.ok((await command(weir, room, "forget me yes")).startsWith(`Forgotten: ${ofAnn + 1} messages`));
  held.release(text(`${OURS} measures the river.`));
  await compaction(weir, room, "stale");
  for (let number = 1; compactions(weir, room, "committed").length === 0; number++) {
    await ask(weir, server, room, `${reading(number)} ${"and on ".repeat(60)}`);
    await quiet(weir, room);
  }
  for (const { body } of summariserRequests(server).slice(1)) assert.ok(!JSON.stringify(body).includes(OURS));
  const lines = said(await ask(weir, server, room, "and now?"));
  assert.equal(lines[1], `[Compaction Summary]: ${SUMMARY}`);
  assert.deepEqual(await rowsWith(open, OURS), []);
  await checkFold(weir, room);
});

test("/forget me: a long channel is done in batches, and the turn that runs begins again without what is gone", async () => {
  await using scene = await openScene();
  const { server, open } = scene;
  const held = hold();
  let isFirst = true;
  script(
    server,
    () => text(SUMMARY),
    () => {
      if (!isFirst) return text("noted");
      isFirst = false;
      return held.behaviour;
    },
  );
  const room = "long";
  const { id } = await open.channel(room);
  for (let number = 1; number <= 230; number++)
    await open.say(id, `${OURS} ${number}`, { addressed: false, id: `${room}-${number}` });
  await using weir = await scene.start({ window: 32_768, compaction: "max_raw_messages = 1000" });
  await weir.say("what did Ann say?", { room, author: authorOf(BEN) });
  await server.received(1);
  assert.ok(JSON.stringify(server.requests[0]?.body).includes(OURS));
  // Ten seconds are enough for all of them, where the machine has nothing else to do.
  let forgotten = 0;
  for (let isDone = false; !isDone;) {
    const told = await command(weir, room, "forget me yes");
    const [, count] = /^Forgotten: (\d+) messages? of yours in this channel, and 0 memories/.exec(told) ?? [];
    isDone = !told.includes("are left: /forget me yes goes on");
    forgotten += Number(count);
  }
  assert.equal(forgotten, 230);
  held.release(text(`She said ${OURS}.`));
  await weir.event("reply_delivered");
  assert.ok(server.requests.length > 1, "the turn had begun again");
  const later = await ask(weir, server, room, "and what else?");
  assert.ok(!JSON.stringify(later.body).includes(OURS));
  assert.deepEqual(weir.platform.texts(room), ["noted", "noted"]);
  assert.deepEqual(await rowsWith(open, OURS), []);
  await checkFold(weir, room);
});

test("/forget me: reaches the same messages where they are background of the channel's threads, and no other place", async () => {
  await using scene = await openScene();
  const { open } = scene;
  const parent = { id: "general", name: "general" };
  const general = await place(scene, "general", "channel");
  const thread = await place(scene, "thread", "thread", { workspace: "w", channel: "t", parent });
  const other = await place(scene, "other", "thread", {
    workspace: "w",
    channel: "t",
    parent: { id: "else", name: "" },
  });
  const dm = await place(scene, "dm", "dm");
  for (const channel of [general, thread, other])
    await open.say(channel, `${OURS} as a copy`, { id: "root", addressed: false });
  await open.say(thread, `${OURS} in the thread`, { id: "reply", addressed: false });
  await open.say(dm, `${OURS} in private`, { id: "private", addressed: false });
  // Somebody else's message, that has the same id as one of Ann's.
  await open.say(general, "mine", { id: "same", addressed: false });
  await open.say(thread, `${THEIRS} is mine`, { id: "same", addressed: false, author: authorOf(BEN) });
  await using weir = await scene.start();
  assert.match(
    await command(weir, "general", "forget me", ANN, "discord"),
    /^In this channel that is 3 messages of yours/,
  );
  assert.match(await command(weir, "general", "forget me yes", ANN, "discord"), /^Forgotten: 3 messages/);
  const left = await open.sql("select text from entries where text <> '' order by channel_id, seq");
  assert.deepEqual(
    left.map((row) => row["text"]),
    [`${OURS} in the thread`, `${THEIRS} is mine`, `${OURS} as a copy`, `${OURS} in private`],
  );
  const inDm = await command(weir, "dm", "forget everything about me", ANN, "discord");
  assert.match(inDm, /^In this conversation that is 1 message of yours/);
});
