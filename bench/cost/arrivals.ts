import {
  BLOCK_CACHE,
  BREAKPOINT_CACHE,
  type CacheSpecies,
  type CacheUse,
  chatPrompt,
  fullPrice,
  implicitlyMarked,
  PREFIX_CACHE,
  type PromptPart,
  ProviderCache,
} from "../../test/support/provider-caches.ts";
import { defaultAgent } from "../../test/context/agent.ts";
import {
  decide,
  mustLand,
  tokensOnceLanded,
  type CompactionState,
  type Decision,
} from "../../src/compactor/policy/policy.ts";
import type { Context } from "../../src/core/context.ts";
import { contextRequest } from "../../src/core/context-request.ts";
import type { ModelPrice } from "../../src/core/cost.ts";
import { Pace } from "../../src/core/pace.ts";
import { cacheMarks, markedParts } from "../../src/llm/caches/marks.ts";
import { type CacheLife, type CacheRule, cacheRuleOf } from "../../src/llm/caches/rules.ts";
import { Simulation } from "../../src/tune/simulation.ts";
import { type Agent, budgetOf } from "../../src/turn/agent.ts";
import { createTalk } from "../support/conversation.ts";
import { type Bench, type Row, sum } from "../support/figure.ts";
import { type Spoken, spokenIn } from "./spoken.ts";

/** A provider's cache, and the model whose list price converts tokens into dollars. */
interface PricedCache {
  readonly name: string;
  readonly rule: CacheRule;
  readonly species: CacheSpecies;
  readonly model: string;
  /** Dollars for a million tokens; read as described in model-catalog.ts. */
  readonly price: ModelPrice;
}

const BLOCKS = cacheRuleOf({ hostname: "", model: "claude-sonnet-5", said: "auto", api: "messages" });
const [SHORT, LONG = SHORT] = BLOCKS.lives;
const SONNET = { model: "claude-sonnet-5", price: { input: 2, cached: 0.2, write: 2.5, output: 10 } };

const PRICED_CACHES: readonly PricedCache[] = [
  {
    name: "prefix",
    rule: cacheRuleOf({ hostname: "api.openai.com", model: "gpt-5.5", said: "auto", api: "chat" }),
    species: PREFIX_CACHE,
    model: "gpt-5.5",
    price: { input: 5, cached: 0.5, write: 5, output: 30 },
  },
  {
    name: "breakpoints",
    rule: cacheRuleOf({ hostname: "api.openai.com", model: "gpt-6-sol", said: "auto", api: "chat" }),
    species: BREAKPOINT_CACHE,
    model: "gpt-6-sol",
    price: { input: 2, cached: 0.2, write: 2.5, output: 10 },
  },
  { name: "blocks, 5 min", rule: { ...BLOCKS, lives: [SHORT] }, species: BLOCK_CACHE, ...SONNET },
  { name: "blocks, 1 h", rule: { ...BLOCKS, lives: [LONG] }, species: BLOCK_CACHE, ...SONNET },
  { name: "blocks, as the pace says", rule: BLOCKS, species: BLOCK_CACHE, ...SONNET },
];

/** Number of conversations of each recording. */
const RECORDINGS = { "channel-irc-other": 3, "channel-irc-ubuntu": 1, "recall-locomo": 1 };
const WINDOW = 32_768;
/** Duration of a summary, ms. */
const SUMMARISER_MS = 20_000;
const WEIGHTS = [0.5, 1, Number.POSITIVE_INFINITY];
const SCENE = { platform: "bench", channel: "room", names: ["bench:room"], fileNames: ["bench-room"] };

/** A conversation's bill: requests, and the summariser's uncached input. */
interface Bill {
  readonly uses: readonly CacheUse[];
  readonly summariser: number;
}

/** The cost of recorded channels under each cache, with the original times of messages. */
export function arrivalRows(bench: Bench, folder: string): Row[] {
  const rows: Row[] = [];
  const recordings = Object.entries(RECORDINGS).map(([recording, most]) => {
    return { recording, talks: spokenIn(folder, recording, bench.isQuick ? 1 : most) };
  });
  for (const cache of PRICED_CACHES) {
    let [own, best] = [0, 0];
    for (const { recording, talks } of recordings) {
      const bills = billsOf(cache, talks);
      rows.push(...rowsOf(`${recording}, ${cache.name}`, cache, bills));
      own += tokensOf(bills.weir);
      best += tokensOf(bills.clairvoyant);
      bench.progress(`${recording}, ${cache.name}`);
    }
    const what = `recorded channels, ${cache.name}: over a clairvoyant`;
    rows.push({ what, value: own / best, unit: "×", bar: { atMost: 1.15 } });
  }
  return rows;
}

type Bills = Readonly<Record<"weir" | "unaware" | "clairvoyant" | "last" | "waiting", Bill>>;
/**
 * Weir; Weir without knowledge of the cache, whose provider marks the latest message; or with knowledge of the next
 * request's time.
 */
type Way = "weir" | "unaware" | { readonly weight: number };

function billsOf(cache: PricedCache, talks: readonly Spoken[]): Bills {
  const together = (hold: (talk: Spoken) => Bill): Bill => {
    const bills = talks.map(hold);
    return { uses: bills.flatMap(({ uses }) => uses), summariser: sum(bills.map((one) => one.summariser)) };
  };
  const own = new Map(talks.map((talk) => [talk, simulate(cache, talk, "weir")]));
  const weir = (talk: Spoken): Bill => own.get(talk) ?? NOTHING;
  return {
    weir: together(weir),
    unaware: together((talk) => simulate(cache, talk, "unaware")),
    // The best known: of these plans and of Weir's own.
    clairvoyant: together((talk) => {
      const bills = WEIGHTS.map((weight) => simulate(cache, talk, { weight }));
      return bills.reduce((best, one) => (tokensOf(one) < tokensOf(best) ? one : best), weir(talk));
    }),
    last: together((talk) => holdPlainly(cache, talk, "last")),
    waiting: together((talk) => holdPlainly(cache, talk, "waiting")),
  };
}

function tokensOf({ uses, summariser }: Bill): number {
  return sum(uses.map(fullPrice)) + summariser;
}

const NOTHING: Bill = { uses: [], summariser: 0 };

function simulate(cache: PricedCache, talk: Spoken, way: Way): Bill {
  const { rule } = cache;
  const agent = agentWith(cache, way);
  const weight = typeof way === "string" ? null : way.weight;
  const provider = new ProviderCache(cache.species);
  const times = talk.turns.map(({ at }) => at);
  const timeOf = new Map(talk.turns.map(({ turn, at }) => [turn.turn.id, at]));
  const pace = new Pace();
  const uses: CacheUse[] = [];
  let now = 0;
  const simulation = new Simulation({
    agent,
    budget: budgetOf(agent, cache.model),
    scene: SCENE,
    from: 1,
    lengths: [],
    summariserMs: SUMMARISER_MS,
    resets: [],
    ...(weight !== null && { decide: (state) => foresee(state, rule, { times, now, weight }) }),
    onRequest({ context, overflows }, { id }) {
      const at = timeOf.get(id) ?? now;
      if (overflows) return;
      const known =
        weight === null
          ? undefined
          : lifeUntil(
              rule,
              times.find((time) => time > at),
              at,
            );
      const waits = pace.waitsUpTo({ id, at });
      pace.note(id, at);
      const parts = promptOf(context, rule, waits, known);
      uses.push(provider.use(way === "unaware" ? implicitlyMarked(parts) : parts, at));
    },
  });
  simulation.expect(talk.turns.map(({ turn }) => turn));
  for (const entry of talk.entries) {
    now = entry.at.getTime();
    simulation.take(entry);
  }
  simulation.end();
  return { uses, summariser: simulation.outcome.tokens.summariserRead };
}

function agentWith({ model, rule, price }: PricedCache, way: Way): Agent {
  const agent = defaultAgent();
  const isAware = way !== "unaware";
  return {
    ...agent,
    models: {
      ...agent.models,
      nameOf: () => model,
      priceOf: () => price,
      cacheRule: () => (isAware ? rule : undefined),
    },
    config: { ...agent.config, contextWindow: WINDOW },
  };
}

function promptOf(
  context: Context,
  rule: CacheRule,
  waits: readonly number[],
  known: CacheLife | null | undefined,
): PromptPart[] {
  const request = { ...contextRequest(context), tools: context.tools, waits };
  const marks = cacheMarks(request, rule, true, known);
  return chatPrompt({
    tools: context.tools,
    messages: request.messages.map((message, place) => {
      const ends = marks.ends.filter((end) => end.message === place);
      const parts = markedParts(message, ends).flatMap((part) => ("image" in part ? [] : part));
      return {
        role: message.role,
        content: parts.map(({ text, isMarked }) => ({ type: "text", text, ...(isMarked && marks.ofPart) })),
        ...(message.role === "assistant" && { tool_calls: message.calls }),
      };
    }),
  });
}

/** The cheapest life, given the time of the next request; null: none lasts long enough. */
function lifeUntil({ lives }: CacheRule, next: number | undefined, now: number): CacheLife | null {
  return lives.find(({ ms }) => next !== undefined && next - now <= ms) ?? null;
}

/** The policy, except that a landing without urgency waits if the cache goes cold before waiting has cost as much. */
function foresee(
  state: CompactionState,
  rule: CacheRule,
  {
    times,
    now,
    weight,
  }: { readonly times: readonly number[]; readonly now: number; readonly weight: number },
): Decision {
  const { cache, ...others } = state;
  const decision = decide(others);
  if (decision.kind !== "land" || cache === undefined || mustLand(state)) return decision;
  const life = rule.lives.at(-1)?.ms ?? 0;
  const next = times.filter((time) => time > now);
  const cold = next.findIndex((time, index) => time - (next[index - 1] ?? now) > life);
  const room = (state.tokenBudgetAt(state.rules.aggressiveThreshold) - state.tokens) / cache.turnTokens;
  const after = tokensOnceLanded(state);
  const { read, write } = cache.terms;
  const reset = weight * (write - read) * Math.max(0, after - cache.sharedTokens);
  const reading = read * (state.tokens - after);
  const turns = cold === -1 ? next.length : cold;
  if (turns > room) return reset <= reading * room + reset ? decision : { kind: "idle" };
  return reset <= reading * turns ? decision : { kind: "idle" };
}

const SYSTEM = { role: "system", content: "You are Weir, and talk with people. ".repeat(30) };
/** Weir's default room for output and reserve. */
const RESERVE = 6144;
/** Messages that a plain bot keeps raw when it summarises. */
const KEPT = 20;

/** A plain bot in the same channel: its provider marks its latest message, which is unchanged in the next request. */
function holdPlainly({ species }: PricedCache, talk: Spoken, way: "last" | "waiting"): Bill {
  const provider = new ProviderCache(species);
  const summary = createTalk(13);
  const times = new Map(talk.turns.map(({ turn, at }) => [turn.turn.toSeq, at]));
  const uses: CacheUse[] = [];
  let history: { readonly role: string; readonly content: string }[] = [];
  let summariser = 0;
  for (const entry of talk.entries) {
    const isOwn = entry.kind === "assistant";
    history.push({ role: isOwn ? "assistant" : "user", content: entry.text });
    const at = times.get(entry.seq);
    if (at === undefined) continue;
    const isFull = (): boolean => sizeOf(history) > 0.8 * (WINDOW - RESERVE);
    if (way === "last") while (isFull()) history = history.slice(1);
    else if (isFull()) {
      summariser += sizeOf(history.slice(0, -KEPT));
      history = [{ role: "user", content: `Summary: ${summary(1020)}` }, ...history.slice(-KEPT)];
    }
    const parts = chatPrompt({ messages: [SYSTEM, ...history] });
    uses.push(provider.use(implicitlyMarked(parts), at));
  }
  return { uses, summariser };
}

function sizeOf(messages: readonly { readonly content: string }[]): number {
  return sum(messages.map(({ content }) => (content.length + 20) / 4)) + SYSTEM.content.length / 4;
}

function rowsOf(name: string, { price, model }: PricedCache, bills: Bills): Row[] {
  const row = (what: string, value: number, unit = "tokens"): Row => {
    return { what: `${name}: ${what}`, value, unit };
  };
  const { weir, unaware, clairvoyant, last, waiting } = bills;
  const of = (part: "read" | "written" | "plain"): number => sum(weir.uses.map((use) => use[part]));
  const dollars = (bill: Bill): number => (tokensOf(bill) * price.input) / 1_000_000;
  return [
    row("requests", weir.uses.length, ""),
    row("read", of("read")),
    row("written", of("written")),
    row("plain, with the summariser's", of("plain") + weir.summariser),
    row("at full price", tokensOf(weir)),
    row(`in dollars, ${model}`, dollars(weir), "$"),
    row("over a clairvoyant", tokensOf(weir) / tokensOf(clairvoyant), "×"),
    row("without marks of its own, in dollars", dollars(unaware), "$"),
    row("send the last N, in dollars", dollars(last), "$"),
    row("summarise at 80 %, and wait, in dollars", dollars(waiting), "$"),
  ];
}
