import assert from "node:assert/strict";
import { test } from "node:test";
import { agentId, type ChannelId, turnId } from "../../../src/core/ids.ts";
import { NoteStore } from "../../../src/features/notes/note-store.ts";
import { TEST_DIGESTER } from "../../support/digester.ts";
import { openTestStore } from "../../store/open-store.ts";

const open = await openTestStore();
const { store } = open;
const notes = new NoteStore(open.db);
const MAIN = agentId("main");
const FILE = "channels/test-room/MEMORY.md";
let count = 0;

/** A channel in which a turn answers a question. */
async function room(): Promise<{
  readonly channel: ChannelId;
  readonly say: (text: string) => Promise<string>;
  readonly note: (text: string, takenBack?: number) => Promise<number | null>;
  readonly takenBack: () => Promise<number>;
}> {
  const { id: channel, epoch } = await open.channel(`notes-${++count}`);
  const say = async (text: string): Promise<string> => {
    const id = `m-${++count}`;
    await open.say(channel, text, { id });
    return id;
  };
  const takenBack = async (): Promise<number> => (await notes.look(channel, MAIN, [FILE])).takenBack;
  return {
    channel,
    say,
    takenBack,
    async note(text, seen) {
      const seq = await open.say(channel, "please note that", { id: `q-${++count}` });
      await open.sql("update turns set state = 'skipped', settled_at = now() where channel_id = $1", channel);
      const turn = await store.turns.begin({ channel, epoch }, seq, seq);
      assert.ok(turn !== null);
      const draft = { agent: MAIN, file: FILE, text };
      return notes.add({ channel, epoch }, turnId(turn.id), draft, seen ?? (await takenBack()));
    },
  };
}

test("a line that retells a deleted text is to go, by its number; the others stay", async () => {
  const { channel, say, note } = await room();
  const secret = await say("the code is zxqpine 774411");
  await say("the crane is red");
  const [told, kept] = [await note("Ann's code is 774411"), await note("the crane is red")];
  await store.log.delete(channel, secret, TEST_DIGESTER);
  const { removed } = await notes.look(channel, MAIN, [FILE]);
  assert.deepEqual([...removed], [told]);
  assert.deepEqual(await notes.removed(MAIN), [{ id: told, file: FILE, isOld: false }]);
  assert.equal(await notes.textOf(channel, kept ?? 0), "the crane is red");
  assert.equal(await notes.textOf(channel, told ?? 0), null);
  assert.deepEqual(await open.sql("select text from notes where id = $1", told), [{ text: "" }]);
  await notes.drop([told ?? 0]);
  assert.deepEqual(await notes.removed(MAIN), []);
});

test("an edit takes what it has taken away, and no more", async () => {
  const { channel, say, note } = await room();
  const message = await say("the boat Nordwind leaves at 0915");
  const [time, name] = [await note("the boat leaves at 0915"), await note("the boat is called Nordwind")];
  await store.log.edit(channel, message, "the boat Nordwind leaves later", new Date(), TEST_DIGESTER);
  const { removed } = await notes.look(channel, MAIN, [FILE]);
  assert.deepEqual([...removed], [time]);
  assert.equal(await notes.textOf(channel, name ?? 0), "the boat is called Nordwind");
});

test("a line that was written before the deleted message was there is not of it", async () => {
  const { channel, say, note } = await room();
  const early = await note("the code is 774411");
  const later = await say("the code is 774411");
  await store.log.delete(channel, later, TEST_DIGESTER);
  assert.equal(await notes.textOf(channel, early ?? 0), "the code is 774411");
});

test("nothing is noted once a text of the channel was taken back, whenever that is forgotten elsewhere", async () => {
  const { channel, say, note, takenBack } = await room();
  const message = await say("the code is 774411");
  const seen = await takenBack();
  await store.log.edit(channel, message, "never mind", new Date(), TEST_DIGESTER);
  // What the search index keeps of it goes again, some seconds later.
  await open.sql(
    "update search_progress set erased_at = null, deleted_at = null where channel_id = $1",
    channel,
  );
  assert.equal(await note("the code is 774411", seen), null);
  assert.notEqual(await note("the code was changed"), null);
});
