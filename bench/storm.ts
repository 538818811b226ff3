import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { reactionId } from "../src/core/message.ts";
import { createTalk } from "./support/conversation.ts";
import { type BenchDaemon, startBenchDaemon } from "./support/daemon.ts";
import { type Bench, type Figure, median, quantile, type Row } from "./support/figure.ts";
import { indexAll, openChannel } from "./support/fill.ts";
import { loopDelayRow, underWatch } from "./support/load.ts";
import { startBenchModel } from "./support/model.ts";

const STORM_MS = 5000;
const THREADS = 420;
const REACTIONS = 3000;
const ROUNDS = 3;
/** The channel of the threads. */
const PARENT = "parent";
/** Channels with usual conversations. */
const QUIET = 2;

type Storm = "threads" | "reactions";

/**
 * The cost of a storm for other channels: many new threads that each want an answer, and many reactions in one channel.
 * Their replies are measured in it, and alternately while it is calm.
 */
export const storm: Figure = {
  name: "storm",
  about: `replies beside ${THREADS} new threads at once, and beside ${REACTIONS} reactions in 5 s; 100 ms model`,
  async run(bench: Bench): Promise<Row[]> {
    await using model = await startBenchModel();
    await using weir = await startBenchDaemon({
      modelUrl: model.url,
      agents: [
        { id: "quiet", model: "reply-100-8", compaction: "enabled = false" },
        { id: "noisy", model: "reply-100-8", compaction: "enabled = false" },
      ],
    });
    await openChannel(weir, { agent: "noisy", name: PARENT, count: 2000, textLength: 200, seed: 1 });
    await indexAll(weir.database);
    await talkUntil(weir, delay(2000), []);
    const found: Record<Storm | "calm", number[]> = { calm: [], threads: [], reactions: [] };
    let doneMs = 0;
    const { load } = await underWatch(weir.dataDir, async () => {
      for (let round = 1; round <= (bench.isQuick ? 1 : ROUNDS); round++) {
        await talkUntil(weir, delay(STORM_MS), found.calm);
        for (const kind of ["threads", "reactions"] as const) {
          const begun = performance.now();
          const noise = kind === "threads" ? threads(weir) : reactions(weir);
          await talkUntil(weir, kind === "threads" ? noise : delay(STORM_MS), found[kind]);
          await noise;
          if (kind === "threads") doneMs = Math.max(doneMs, performance.now() - begun);
        }
        bench.progress(`round ${round}`);
      }
    });
    const over = (kind: Storm): Row[] => [
      { what: `replies beside ${kind}`, value: found[kind].length, unit: "" },
      { what: "… p50", value: median(found[kind]), unit: "ms" },
      { what: "… p99", value: quantile(found[kind], 0.99), unit: "ms" },
      {
        what: "… over calm, p50",
        value: median(found[kind]) / median(found.calm),
        unit: "×",
        bar: { atMost: 1.5 },
      },
    ];
    return [
      { what: "replies while it is calm", value: found.calm.length, unit: "" },
      { what: "… p50", value: median(found.calm), unit: "ms" },
      { what: "… p99", value: quantile(found.calm, 0.99), unit: "ms" },
      ...over("threads"),
      { what: `… until all ${THREADS} threads are answered, at most`, value: doneMs, unit: "ms" },
      ...over("reactions"),
      loopDelayRow(load),
    ];
  },
};

/** People in a few channels; each message follows soon after the answer to the one before. */
async function talkUntil(weir: BenchDaemon, end: Promise<unknown>, latencies: number[]): Promise<void> {
  const over = new AbortController();
  void end.then(() => over.abort());
  const talkOn = async (seed: number): Promise<void> => {
    const talk = createTalk(seed);
    await delay(seed * 20);
    while (!over.signal.aborted) {
      const { handedInAt, answeredAt } = await platformOf(weir, "quiet").ask(`quiet-${seed}`, talk(80));
      latencies.push(answeredAt - handedInAt);
      await delay(30);
    }
  };
  await Promise.all(Array.from({ length: QUIET }, async (_, seed) => talkOn(seed)));
}

/** New threads, each with a question, as fast as they can be handed in. Resolves when all are answered. */
async function threads(weir: BenchDaemon): Promise<void> {
  const platform = platformOf(weir, "noisy");
  const talk = createTalk(7);
  const asked: Promise<unknown>[] = [];
  const place = { workspace: "", channel: "a thread", parent: { id: PARENT, name: PARENT } };
  for (let index = 0; index < THREADS; index++) {
    asked.push(platform.ask(`thread-${randomUUID()}`, talk(120), { kind: "thread", place }));
    if (index % 50 === 49) await delay(10);
  }
  await Promise.all(asked);
}

/** Reactions to one message, by as many people, evenly over the storm. Resolves when all are in the log. */
async function reactions(weir: BenchDaemon): Promise<void> {
  const platform = platformOf(weir, "noisy");
  const message = platform.message("reacted", "look at this", false);
  await platform.inbox.receive(message);
  const received: Promise<unknown>[] = [];
  for (let index = 0; index < REACTIONS; index++) {
    const author = { id: `p${index}`, name: `Person ${index}`, isBot: false };
    received.push(
      platform.inbox.receive({
        ...platform.message("reacted", "reacted with 👍", false),
        id: reactionId(message.id, author.id, "👍"),
        author,
        replyTo: message.id,
      }),
    );
    if (index % 10 === 9) await delay((10 * STORM_MS) / REACTIONS);
  }
  await Promise.all(received);
}

function platformOf(weir: BenchDaemon, agent: string) {
  const platform = weir.platforms.get(agent);
  if (platform === undefined) throw new Error(`no agent ${agent}`);
  return platform;
}
