import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { setTimeout as delay } from "node:timers/promises";
import { assert } from "../../src/core/errors.ts";
import { createTestDatabase, withClient } from "../../test/support/database.ts";
import { type ModelServer, startModelServer } from "../../test/support/model-server.ts";
import { startWeir, type TestWeir } from "../../test/support/weir.ts";
import { COMPACTOR_TIMING } from "../../src/compactor/target.ts";
import { estimateTokens } from "../../src/text/tokens.ts";
import type { RecordedFact, RecordedMessage } from "../support/recordings.ts";
import { Recall } from "../../src/memory/recall.ts";
import { RecallMemories } from "../../src/memory/recall-memories.ts";
import type { Access, AskedChannel } from "./asking.ts";
import { factSummariser } from "./fact-summariser.ts";

/** `none`: nothing is summarised; `perfect`: see `factSummariser`; `stand-in`: no language model. */
export type Summariser = "none" | "perfect" | "stand-in";

/** Messages of one channel, oldest first. */
export interface Talk {
  readonly room: string;
  readonly messages: readonly RecordedMessage[];
}

export interface Replayed extends AsyncDisposable {
  /** By room. */
  readonly channels: ReadonlyMap<string, AskedChannel>;
  /** Of all channels, by kind. */
  readonly jobs: Readonly<Record<"leaf" | "merge", number>>;
}

/** An hour after the last message, when the conversation counts as over. */
const LATER_MS = 3_600_000;

/**
 * Replays each conversation into a channel of its own, message by message, through the whole daemon. Each summary has the time
 * that it takes: a chat has it, too.
 */
export async function replay(
  talks: readonly Talk[],
  facts: readonly RecordedFact[],
  { summariser, window, recall }: Access & { readonly summariser: Summariser },
): Promise<Replayed> {
  await using stack = new AsyncDisposableStack();
  const database = stack.use(await createTestDatabase());
  const model = stack.use(await startModelServer());
  model.respond(
    factSummariser(
      talks.flatMap(({ messages }) => messages),
      facts,
    ),
  );
  const end = new Date(Math.max(...talks.map(({ messages }) => endOf(messages))));
  const weir = stack.use(
    await startWeir({
      ...serverOf(summariser, model),
      connection: database.connection,
      config: configOf(summariser, { window, recall }),
      now: () => end,
      compaction: { timing: { ...COMPACTOR_TIMING, lookEveryMs: 1 } },
    }),
  );
  const channels = new Map<string, AskedChannel>();
  await Promise.all(talks.map(async (talk) => channels.set(talk.room, await say(weir, talk))));
  const { store } = weir.daemon;
  while ((await store.search.behind()).length > 0) await delay(20);
  // The server does so by itself about a minute later: by then recall knows which words are common.
  await withClient(database.connection, async (client) => client.query("analyze entry_search"));
  const all = [...channels.values()].map(async ({ id }) => store.compactions.list(id, 1_000_000));
  const done = (await Promise.all(all)).flat().filter(({ state }) => state === "committed");
  const count = (kind: string): number => done.filter((job) => job.kind === kind).length;
  const kept = stack.move();
  return {
    channels,
    jobs: { leaf: count("leaf"), merge: count("merge") },
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}

function endOf(messages: readonly RecordedMessage[]): number {
  return new Date(messages.at(-1)?.ts ?? 0).getTime() + LATER_MS;
}

function serverOf(
  summariser: Summariser,
  { url }: ModelServer,
): { modelUrl: string; env?: Record<string, string> } {
  return { modelUrl: summariser === "stand-in" ? "" : url };
}

function configOf(summariser: Summariser, { window, recall }: Access): string {
  return `
[[agents]]
id = "main"
name = "Weir"
model = "answers"
context_window = ${window}
memory.recall = "${recall}"
[agents.compaction]
enabled = ${summariser !== "none"}
`;
}

/** Requests that the model's provider has counted before: by then, the factor of its estimates stays as it is. */
const COUNTED = 200;

/** Teaches the agent how many tokens its model counts, as its requests do in a chat where it has answered for a while. */
async function countedBefore(
  { agent }: AskedChannel["actor"],
  messages: readonly RecordedMessage[],
): Promise<void> {
  const sample = messages
    .map(({ author, text }) => `${author}: ${text}`)
    .join("\n")
    .slice(0, 20_000);
  const report = { estimated: estimateTokens(sample), reported: countTokens(sample) };
  const model = await agent.models.resolve(agent.config.model);
  for (let count = 0; count < COUNTED; count++) agent.models.learnFactor(model, report);
}

async function say(weir: TestWeir, { room, messages }: Talk): Promise<AskedChannel> {
  const { store, registry } = weir.daemon;
  let isCounted = false;
  for (const { conversation_id: id, author, seq, text, ts } of messages) {
    const person = { id: `u-${author}`, name: author, isBot: false };
    const said = { room, id: `${id}-${seq}`, author: person, at: new Date(ts) };
    await weir.say(text, { ...said, addressed: false });
    const channel = await store.channels.find({ platform: "test", name: room });
    assert(channel, "something was said there");
    const actor = await registry.get(channel.id);
    if (!isCounted) await countedBefore(actor, messages);
    isCounted = true;
    await actor.idle();
    await actor.compactor.idle();
  }
  const channel = await store.channels.find({ platform: "test", name: room });
  assert(channel, "something was said there");
  const now = new Date(endOf(messages));
  return {
    store,
    id: channel.id,
    actor: await registry.get(channel.id),
    now,
    recall: new Recall({ search: store.search, now: () => now.getTime() }),
    memories: new RecallMemories({ memories: store.memories, search: store.search, now: () => now }),
  };
}
