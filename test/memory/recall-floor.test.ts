import assert from "node:assert/strict";
import { before, test } from "node:test";
import { agentId, type ChannelId } from "../../src/core/ids.ts";
import { Recall } from "../../src/memory/recall.ts";
import { worthShowing } from "../../src/memory/recall-worth.ts";
import { openTestStore } from "../store/open-store.ts";

const open = await openTestStore();
const { store } = open;
const recall = new Recall({ search: store.search, now: () => Date.UTC(2026, 10, 1) });

const SAID = [
  "The pier meeting is on Tuesday at nine",
  "we painted the garage door last summer",
  "the lamp in the boathouse is broken again",
  "could you bring the ladder tomorrow?",
  "my sister comes by train on Friday",
  "the ferry was late because of the fog",
];
let channel: ChannelId;

before(async () => {
  channel = await store.channels.open({
    address: { platform: "local", name: "floor" },
    kind: "channel",
    workspace: "",
    agent: agentId("main"),
  });
  for (let index = 0; index < 60; index++)
    await store.log.appendMessage(channel, {
      addressed: false,
      id: `${index}`,
      author: { id: "ann", name: "Ann", isBot: false },
      text: SAID[index] ?? `small talk number ${index}, and nothing else`,
      at: new Date(Date.UTC(2026, 4, 7, 12, index)),
    });
  await store.search.indexAll([channel], 20_000);
});

async function shown(question: string): Promise<(string | null)[]> {
  const found = await recall.find({
    ...worthShowing(question),
    channel,
    text: question,
    to: 60,
    limit: 20,
  });
  return found.map(({ text }) => text);
}

test("a question that the channel answers is shown lines, a long one too", async () => {
  assert.equal((await shown("When is the pier meeting?"))[0], SAID[0]);
  const long =
    "I wonder whether somebody remembers it, since I was away: which day was it again on which the pier meeting was to be, and at nine?";
  assert.ok((await shown(long)).includes(SAID[0] ?? ""));
});

test("a question about something else is shown nothing, though a line has one of its words", async () => {
  assert.deepEqual(
    await shown("Which colour had the motorcycle of Erna before the garage sold it to a collector?"),
    [],
  );
  assert.deepEqual(await shown("Who conducted the violin concert on the train?"), []);
});

test("a search that somebody asks for has no such floor", async () => {
  const text = "Which colour had the motorcycle of Erna before the garage sold it to a collector?";
  assert.equal((await recall.find({ channel, text, to: 60, limit: 20 }))[0]?.text, SAID[1]);
});
