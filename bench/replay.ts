import { setTimeout as delay } from "node:timers/promises";
import { startBenchDaemon } from "./support/daemon.ts";
import { type Bench, type Figure, type Row, sum } from "./support/figure.ts";
import { startBenchModel } from "./support/model.ts";
import { readMessages, type RecordedMessage } from "./support/recordings.ts";

const RECORDING = "channel-irc-ubuntu";
const WINDOWS = [8192, 16_384, 32_768] as const;
const MESSAGES = 1000;
/** Four hundred times the channel's speed, at six seconds a message. */
const MESSAGE_MS = 15;
const ASKED_EVERY = 15;
const REPLY = "reply-0-40+prefix";

/** The slow one takes the equivalent of 20 s at the channel's own speed. */
const SUMMARISERS: readonly (readonly [what: string, model: string | null])[] = [
  ["that is fast", "told-0"],
  ["of 20 s", "told-50"],
  ["that fails three times in ten", "failing-0"],
  ["that answers nothing", "empty-0"],
  ["without a language model", null],
];

/** A recorded channel with an agent's answers at intervals, in small windows and with all kinds of summarisers. */
export const replay: Figure = {
  name: "replay",
  about: "a recorded channel in windows of 8k to 32k: jobs, holes, and what is left of old text",
  needsRecordings: true,
  async run(bench: Bench): Promise<Row[]> {
    const messages = readMessages(bench.recordings ?? "", RECORDING).slice(0, bench.isQuick ? 300 : MESSAGES);
    const rows: Row[] = [];
    for (const window of WINDOWS) {
      for (const [what, summariser] of SUMMARISERS) {
        const name = `${window / 1024}k, a summariser ${what}`;
        rows.push(...rowsOf(name, messages.length, await hold(messages, { window, summariser })));
        bench.progress(name);
      }
    }
    return rows;
  },
};

interface Held {
  readonly jobs: number;
  readonly digests: number;
  readonly emergencies: number;
  readonly requests: number;
  readonly holes: number;
  /** Estimated tokens of the live summaries, and the messages that they cover. */
  readonly told: number;
  readonly covered: number;
}

const LIVE = "select tokens::int as tokens, to_seq::int as to_seq from summaries where live";

async function hold(
  messages: readonly RecordedMessage[],
  { window, summariser }: { readonly window: number; readonly summariser: string | null },
): Promise<Held> {
  await using model = await startBenchModel();
  const agent = { id: "main", model: REPLY, summariser: summariser ?? "auto", window };
  // Without a server, the built-in model plays both.
  const isOffline = summariser === null;
  await using weir = await startBenchDaemon({
    modelUrl: isOffline ? null : model.url,
    agents: [isOffline ? { ...agent, model: "auto" } : agent],
  });
  const { platform, daemon } = weir;
  let [jobs, digests, emergencies] = [0, 0, 0];
  daemon.events.on((event) => {
    if (event.type === "emergency") emergencies++;
    if (event.type !== "compaction") return;
    if (event.phase === "started") jobs++;
    if (event.phase === "committed" && event.model === "digest") digests++;
  });
  let next = performance.now();
  for (const [index, { author, text, ts }] of messages.entries()) {
    const said = { author: { id: author, name: author, isBot: false }, at: new Date(ts) };
    if (index % ASKED_EVERY === ASKED_EVERY - 1) await platform.ask("room", text, said);
    else await platform.inbox.receive({ ...platform.message("room", text, false), ...said });
    next += MESSAGE_MS;
    await delay(Math.max(0, next - performance.now()));
  }
  const live = await weir.database.query<{ tokens: number; toSeq: number }>("bench_live", LIVE);
  const served = (await model.served()).filter((one) => one.model === REPLY);
  return {
    jobs,
    digests,
    emergencies,
    requests: isOffline ? 0 : served.length,
    holes: served.filter(({ prefix }) => prefix?.hasHole === true).length,
    told: sum(live.map(({ tokens }) => tokens)),
    covered: Math.max(0, ...live.map(({ toSeq }) => toSeq)),
  };
}

function rowsOf(name: string, messages: number, held: Held): Row[] {
  const row = (what: string, value: number): Row => ({ what: `${name}: ${what}`, value, unit: "" });
  const { jobs, digests, emergencies, requests, holes, told, covered } = held;
  return [
    row("jobs a hundred messages", (100 * jobs) / messages),
    row("extracts in place of summaries", digests),
    row("emergencies", emergencies),
    ...(requests === 0 ? [] : [row("share of requests with a hole", holes / requests)]),
    row(`tokens that tell of what is covered, ${covered} entries`, told),
  ];
}
