import { setTimeout as delay } from "node:timers/promises";
import { createTalk } from "./support/conversation.ts";
import { startBenchDaemon } from "./support/daemon.ts";
import { type Bench, type Figure, type Row, sum } from "./support/figure.ts";
import { type PromptPrefix, type ServedRequest, startBenchModel } from "./support/model.ts";
import { promptBytes, sharedBytes } from "./support/prompt-bytes.ts";

/** A conversation of long turns, ten times as fast as people: the summariser takes as many turns as one of 20 s beside a turn each 4 s. */
const TURN_MS = 400;
const SUMMARY_MS = 2000;
/** Of a message and of an answer each, in bytes: together about 510 tokens a turn. */
const TEXT_BYTES = 1020;
/** What the server counts as a token. */
const BYTES_A_TOKEN = 4;
/** Output and reserve that Weir keeps free by default. */
const RESERVE = 6144;
const MODEL = `reply-0-${TEXT_BYTES / 6}+prefix`;

interface Workload {
  readonly name: string;
  readonly turns: number;
  readonly window: number;
  readonly bars: { readonly fullPrice: number; readonly summariserInput?: number };
}

const WORKLOADS: readonly Workload[] = [
  {
    name: "32k, 150 turns",
    turns: 150,
    window: 32_768,
    bars: { fullPrice: 400_000, summariserInput: 90_000 },
  },
  { name: "128k, 500 turns", turns: 500, window: 131_072, bars: { fullPrice: 1_700_000 } },
];

/** What one way of holding a conversation has cost; tokens as the server counts them. */
interface Spent {
  readonly prompts: readonly PromptPrefix[];
  readonly summariser: { readonly input: number; readonly output: number };
  readonly emergencies: number;
  /** Turns that waited for a summary. */
  readonly blocked: number;
  /** Messages that neither a prompt nor a summary shows any more, in turns. */
  readonly lost: number;
}

/** Tokens that a long conversation is paid for, beside two plain ways of holding it. */
export const cost: Figure = {
  name: "cost",
  about: "tokens of a long conversation (510 a turn, a summariser of five turns), beside two plain ways",
  async run(bench: Bench): Promise<Row[]> {
    const rows: Row[] = [];
    for (const workload of WORKLOADS) {
      const run = bench.isQuick ? { ...workload, turns: 60 } : workload;
      const lines = conversation(run.turns);
      rows.push(...rowsOf(run, "Weir", await holdByWeir(bench, run, lines), run.bars));
      rows.push(...rowsOf(run, "send the last N", holdByLast(run, lines)));
      rows.push(...rowsOf(run, "summarise at 80 %, and wait", holdByWaiting(run, lines)));
    }
    return rows;
  },
};

/** The messages of people: the answers come from the server. */
function conversation(turns: number): string[] {
  const talk = createTalk(11);
  return Array.from({ length: turns }, () => talk(TEXT_BYTES));
}

async function holdByWeir(
  bench: Bench,
  { name, window }: Workload,
  lines: readonly string[],
): Promise<Spent> {
  await using model = await startBenchModel();
  await using weir = await startBenchDaemon({
    modelUrl: model.url,
    agents: [{ id: "main", model: MODEL, summariser: `summary-${SUMMARY_MS}`, window }],
  });
  let emergencies = 0;
  weir.daemon.events.on((event) => void (emergencies += Number(event.type === "emergency")));
  let blocked = 0;
  let lost = 0;
  let next = performance.now();
  for (const [index, line] of lines.entries()) {
    const { handedInAt, answeredAt, isAnswer } = await weir.platform.ask("room", line);
    // A summariser's answer is the only thing that takes as long.
    if (answeredAt - handedInAt > SUMMARY_MS / 2) blocked++;
    if (!isAnswer) lost++;
    next += TURN_MS;
    await delay(Math.max(0, next - performance.now()));
    if (index % 50 === 49) bench.progress(`${name}: ${index + 1} of ${lines.length} turns`);
  }
  const served = await model.served();
  const summaries = served.filter((one) => one.model.startsWith("summary"));
  return {
    prompts: served.flatMap((one) => (one.model === MODEL && one.prefix !== null ? [one.prefix] : [])),
    summariser: { input: inputOf(summaries), output: sum(summaries.map((one) => one.completionTokens)) },
    emergencies,
    blocked,
    lost,
  };
}

function inputOf(served: readonly ServedRequest[]): number {
  return sum(served.map(({ bytes }) => bytes / BYTES_A_TOKEN));
}

/** A request of the plain ways, and what they count of it. */
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

/** As many of the newest messages as fill 80 % of the window: the rest is forgotten. */
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
  const nothing = { input: 0, output: 0 };
  return {
    prompts: said.prompts,
    summariser: nothing,
    emergencies: 0,
    blocked: 0,
    lost: Math.floor(forgotten / 2),
  };
}

/** At 80 % all but the newest 20 messages become a summary, and the turn waits for it. */
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
  return { prompts: said.prompts, summariser: { input, output }, emergencies: 0, blocked, lost: 0 };
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
  // The first request has nothing before it.
  const resets = sizes.slice(1).filter((one) => one.fresh > one.total / 2);
  const ordinary = sizes.slice(1).filter((one) => one.fresh <= one.total / 2);
  const fullPrice = (cached: number): number => fresh + cached * (input - fresh) + summariser.input;
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
    row("at full price, cached at 10 %", fullPrice(0.1), "tokens", atMost(bars.fullPrice)),
    row("at full price, cached at 50 %", fullPrice(0.5)),
    row("emergencies", emergencies, "", none),
    row("requests with a hole", prompts.filter(({ hasHole }) => hasHole).length, "", none),
    row("turns blocked by a summary", blocked, "", none),
    row("turns lost", lost, "", none),
  ];
}

function atMost(limit: number | undefined): Row["bar"] {
  return limit === undefined ? undefined : { atMost: limit };
}
