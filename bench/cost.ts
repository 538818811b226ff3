import { setTimeout as delay } from "node:timers/promises";
import { fullPrice } from "../test/support/provider-caches.ts";
import { arrivalRows } from "./cost/arrivals.ts";
import { createTalk } from "./support/conversation.ts";
import { startBenchDaemon } from "./support/daemon.ts";
import { type Bench, type Figure, type Row, sum } from "./support/figure.ts";
import { type PromptPrefix, type ServedRequest, startBenchModel } from "./support/model.ts";
import { promptBytes, sharedBytes } from "./support/prompt-bytes.ts";

/** A conversation of long turns at ten times people's speed: a summary takes as many turns as one of 20 s with a turn each 4 s. */
const TURN_MS = 400;
const SUMMARY_MS = 2000;
/** Of each message and each answer, in bytes: together about 510 tokens a turn. */
const TEXT_BYTES = 1020;
/** Bytes in one of the server's tokens. */
const BYTES_A_TOKEN = 4;
/** Weir's default room for output and reserve. */
const RESERVE = 6144;
const CACHES = ["prefix", "breakpoints", "blocks"] as const;
type Cache = (typeof CACHES)[number];
/** `cache_markers` of a model with this cache. */
const MARKERS: Readonly<Record<Cache, string>> = {
  prefix: "false",
  breakpoints: '"breakpoints"',
  blocks: "true",
};

function modelOf({ id, cache }: Arm): string {
  // The name is the arm's own: its cache is no other one's.
  return `reply-0-${TEXT_BYTES / 6}+${cache}+${id}`;
}

/** A channel of the conversation; its summaries are short, or as long as the summariser is asked for. */
interface Arm {
  readonly id: Cache | "full";
  readonly cache: Cache;
  readonly summariser: string;
}

const ARMS = {
  prefix: armOf("prefix"),
  breakpoints: armOf("breakpoints"),
  blocks: armOf("blocks"),
  full: { id: "full", cache: "prefix", summariser: `told-${SUMMARY_MS}+prefix` },
} satisfies Record<string, Arm>;

function armOf(cache: Cache): Arm {
  return { id: cache, cache, summariser: `summary-${SUMMARY_MS}+${cache}` };
}

interface Workload {
  readonly name: string;
  readonly turns: number;
  readonly window: number;
  /** `filled`: at full price, where summaries fill their length: 1.1 of what it was before they had more room. */
  readonly bars: { readonly fullPrice: number; readonly filled: number; readonly summariserInput?: number };
}

const WORKLOADS: readonly Workload[] = [
  {
    name: "32k, 150 turns",
    turns: 150,
    window: 32_768,
    bars: { fullPrice: 400_000, filled: 441_000, summariserInput: 90_000 },
  },
  { name: "128k, 500 turns", turns: 500, window: 131_072, bars: { fullPrice: 1_500_000, filled: 2_217_000 } },
];

/** The cost of one way to hold a conversation; tokens by the server's count. */
interface Spent {
  readonly prompts: readonly PromptPrefix[];
  /** By a provider with the cache; empty for the plain ways. */
  readonly billed: readonly NonNullable<ServedRequest["billed"]>[];
  readonly summariser: { readonly input: number; readonly output: number; readonly billed: Spent["billed"] };
  readonly emergencies: number;
  /** Turns that waited for a summary. */
  readonly blocked: number;
  /** Messages that neither a prompt nor a summary shows, in turns. */
  readonly lost: number;
}

/** Billed tokens of a long conversation, compared with two plain ways to hold it. */
export const cost: Figure = {
  name: "cost",
  about:
    "tokens of a long conversation (510 a turn, a summariser of five turns) under three caches, beside two plain ways; with --data, of recorded channels",
  async run(bench: Bench): Promise<Row[]> {
    const rows: Row[] = [];
    for (const workload of WORKLOADS) {
      const run = bench.isQuick ? { ...workload, turns: 60 } : workload;
      const lines = conversation(run.turns);
      const held = await holdByWeir(bench, run, lines);
      rows.push(...rowsOf(run, "Weir", held.prefix, run.bars));
      for (const cache of CACHES) rows.push(...billedRows(run, cache, held[cache]));
      rows.push(...billedRows(run, "full", held.full));
      rows.push(...rowsOf(run, "send the last N", holdByLast(run, lines)));
      rows.push(...rowsOf(run, "summarise at 80 %, and wait", holdByWaiting(run, lines)));
    }
    if (bench.recordings !== null) rows.push(...arrivalRows(bench, bench.recordings));
    return rows;
  },
};

/** Factor of the bar with breakpoints and blocks, relative to a cache of prefixes. */
const OVER_PREFIX = 1.3;

/** A provider's charge with this cache, with Weir's marks, and with its own mark at the latest message only. */
function billedRows({ name, bars }: Workload, id: Arm["id"], { billed, summariser }: Spent): Row[] {
  const way = id === "full" ? "prefix, summaries that fill their length" : id;
  const row = (what: string, value: number, bar?: Row["bar"]): Row => {
    return { what: `${name}, ${way}: ${what}`, value, unit: "tokens", ...(bar !== undefined && { bar }) };
  };
  // A summariser's requests share their instructions.
  const all = [...billed, ...summariser.billed];
  const of = (part: "read" | "written" | "plain"): number => sum(all.map(({ use }) => use[part]));
  const atFull = sum(all.map(({ use }) => fullPrice(use)));
  const rows = [
    row("read", of("read")),
    row("written", of("written")),
    row("plain", of("plain")),
    row(
      "the summariser's part of it, at full price",
      sum(summariser.billed.map(({ use }) => fullPrice(use))),
    ),
    row("at full price", atFull, { atMost: barOf(bars, id) }),
  ];
  const unmarked = sum(all.map(({ implicit }) => fullPrice(implicit)));
  return id === "prefix" || id === "full" ? rows : [...rows, row("without marks of its own", unmarked)];
}

function barOf({ fullPrice: ofPrefix, filled }: Workload["bars"], id: Arm["id"]): number {
  if (id === "full") return filled;
  return ofPrefix * (id === "prefix" ? 1 : OVER_PREFIX);
}

/** People's messages; the answers come from the server. */
function conversation(turns: number): string[] {
  const talk = createTalk(11);
  return Array.from({ length: turns }, () => talk(TEXT_BYTES));
}

/** The same conversation in a channel for each arm, at the same time. */
async function holdByWeir(
  bench: Bench,
  { name, window }: Workload,
  lines: readonly string[],
): Promise<Readonly<Record<Arm["id"], Spent>>> {
  await using model = await startBenchModel();
  await using weir = await startBenchDaemon({
    modelUrl: model.url,
    models: Object.values(ARMS)
      .map((arm) => tablesOf(arm))
      .join("\n"),
    agents: Object.values(ARMS).map((arm) => ({
      id: arm.id,
      model: modelOf(arm),
      summariser: arm.summariser,
      window,
    })),
  });
  const emergencies = new Map<string, number>();
  weir.daemon.events.on((event) => {
    if (event.type !== "emergency") return;
    const [id = ""] = event.channel.split(":");
    emergencies.set(id, (emergencies.get(id) ?? 0) + 1);
  });
  const [blocked, lost] = [new Map<string, number>(), new Map<string, number>()];
  let next = performance.now();
  for (const [index, line] of lines.entries()) {
    const ask = async ({ id }: Arm): Promise<void> => {
      const asked = await weir.platforms.get(id)?.ask("room", line);
      if (asked === undefined) throw new Error(`no platform for ${id}`);
      // Only a summariser's answer takes this long.
      if (asked.answeredAt - asked.handedInAt > SUMMARY_MS / 2) blocked.set(id, (blocked.get(id) ?? 0) + 1);
      if (!asked.isAnswer) lost.set(id, (lost.get(id) ?? 0) + 1);
    };
    await Promise.all(Object.values(ARMS).map(ask));
    next += TURN_MS;
    await delay(Math.max(0, next - performance.now()));
    if (index % 50 === 49) bench.progress(`${name}: ${index + 1} of ${lines.length} turns`);
  }
  const served = await model.served();
  const spent = (arm: Arm): Spent => {
    const summaries = served.filter((one) => one.model === arm.summariser);
    const own = served.filter((one) => one.model === modelOf(arm));
    return {
      prompts: own.flatMap(({ prefix }) => (prefix === null ? [] : [prefix])),
      billed: billsOf(own),
      summariser: {
        input: inputOf(summaries),
        output: sum(summaries.map((one) => one.completionTokens)),
        billed: billsOf(summaries),
      },
      emergencies: emergencies.get(arm.id) ?? 0,
      blocked: blocked.get(arm.id) ?? 0,
      lost: lost.get(arm.id) ?? 0,
    };
  };
  const { prefix, breakpoints, blocks, full } = ARMS;
  return {
    prefix: spent(prefix),
    breakpoints: spent(breakpoints),
    blocks: spent(blocks),
    full: spent(full),
  };
}

function tablesOf(arm: Arm): string {
  const names = [modelOf(arm), arm.summariser];
  return names.map((name) => `[models."${name}"]\ncache_markers = ${MARKERS[arm.cache]}`).join("\n");
}

function billsOf(served: readonly ServedRequest[]): Spent["billed"] {
  return served.flatMap(({ billed }) => (billed === null ? [] : [billed]));
}

function inputOf(served: readonly ServedRequest[]): number {
  return sum(served.map(({ bytes }) => bytes / BYTES_A_TOKEN));
}

/** A request of a plain way, with its counts. */
class PlainPrompts {
  readonly prompts: PromptPrefix[] = [];
  #before: Buffer = Buffer.alloc(0);

  add(messages: readonly object[]): void {
    const prompt = promptBytes([SYSTEM, ...messages]);
    this.prompts.push({ shared: sharedBytes(prompt, this.#before), total: prompt.length, hasHole: false });
    this.#before = prompt;
  }
}

const SYSTEM = { role: "system", content: "You are Weir, and talk with people. ".repeat(30) };

function tokensOf(messages: readonly object[]): number {
  return promptBytes([SYSTEM, ...messages]).length / BYTES_A_TOKEN;
}

/** The newest messages that fill 80 % of the window: earlier ones are forgotten. */
function holdByLast({ window }: Workload, lines: readonly string[]): Spent {
  const said = new PlainPrompts();
  const answer = createTalk(12);
  const history: object[] = [];
  let forgotten = 0;
  for (const line of lines) {
    history.push({ role: "user", content: line });
    while (tokensOf(history.slice(forgotten)) > 0.8 * (window - RESERVE)) forgotten++;
    said.add(history.slice(forgotten));
    history.push({ role: "assistant", content: answer(TEXT_BYTES) });
  }
  const nothing = { input: 0, output: 0, billed: [] };
  return {
    prompts: said.prompts,
    billed: [],
    summariser: nothing,
    emergencies: 0,
    blocked: 0,
    lost: Math.floor(forgotten / 2),
  };
}

/** At 80 % all but the newest 20 messages become a summary, for which the turn waits. */
function holdByWaiting({ window }: Workload, lines: readonly string[]): Spent {
  const said = new PlainPrompts();
  const answer = createTalk(12);
  const summary = createTalk(13);
  let history: object[] = [];
  let input = 0;
  let output = 0;
  let blocked = 0;
  for (const line of lines) {
    history.push({ role: "user", content: line });
    if (tokensOf(history) > 0.8 * (window - RESERVE)) {
      input += tokensOf(history.slice(0, -20));
      output += TEXT_BYTES / BYTES_A_TOKEN;
      blocked++;
      history = [{ role: "user", content: `Summary: ${summary(TEXT_BYTES)}` }, ...history.slice(-20)];
    }
    said.add(history);
    history.push({ role: "assistant", content: answer(TEXT_BYTES) });
  }
  return {
    prompts: said.prompts,
    billed: [],
    summariser: { input, output, billed: [] },
    emergencies: 0,
    blocked,
    lost: 0,
  };
}

function rowsOf(
  { name, turns }: Workload,
  way: string,
  { prompts, summariser, emergencies, blocked, lost }: Spent,
  bars: Partial<Workload["bars"]> = {},
): Row[] {
  const isOurs = way === "Weir";
  const sizes = prompts.map(({ total, shared }) => ({
    total: total / BYTES_A_TOKEN,
    fresh: (total - shared) / BYTES_A_TOKEN,
  }));
  const input = sum(sizes.map(({ total }) => total));
  const fresh = sum(sizes.map((one) => one.fresh));
  // The first request has no predecessor.
  const resets = sizes.slice(1).filter((one) => one.fresh > one.total / 2);
  const ordinary = sizes.slice(1).filter((one) => one.fresh <= one.total / 2);
  const atRate = (cached: number): number => fresh + cached * (input - fresh) + summariser.input;
  const row = (what: string, value: number, unit = "tokens", bar?: Row["bar"]): Row => ({
    what: `${name}, ${way}: ${what}`,
    value,
    unit,
    ...(bar !== undefined && isOurs && { bar }),
  });
  const none = { atMost: 0 };
  return [
    row("prompt, mean", input / turns),
    row("share of a prompt that the one before had", 1 - fresh / input, "", { atLeast: 0.96 }),
    row("input that was not in the prefix", fresh),
    row("resets of the prefix", resets.length, ""),
    row("a reset, mean", sum(resets.map((one) => one.fresh)) / Math.max(1, resets.length)),
    row(
      "an ordinary turn's input, mean",
      sum(ordinary.map((one) => one.fresh)) / Math.max(1, ordinary.length),
    ),
    row("summariser's input", summariser.input, "tokens", atMost(bars.summariserInput)),
    row("summariser's output", summariser.output),
    row("at full price, cached at 10 %", atRate(0.1)),
    row("at full price, cached at 50 %", atRate(0.5)),
    row("emergencies", emergencies, "", none),
    row("requests with a hole", prompts.filter(({ hasHole }) => hasHole).length, "", none),
    row("turns blocked by a summary", blocked, "", none),
    row("turns lost", lost, "", none),
  ];
}

function atMost(limit: number | undefined): Row["bar"] {
  return limit === undefined ? undefined : { atMost: limit };
}
