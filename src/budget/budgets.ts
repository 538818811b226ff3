import type { Logger } from "pino";
import { BoundedMap } from "../async/bounded-map.ts";
import type { AgentConfig } from "../config/config.ts";
import { costOf, type ModelPrice, type ModelSpending } from "../core/cost.ts";
import { errorMessage } from "../core/errors.ts";
import type { AgentId, ChannelId, TurnId } from "../core/ids.ts";
import type { SpentToday, UsageStore } from "../store/turns/usage.ts";
import { createTimeFormat, type TimeFormat } from "../text/time.ts";
import {
  added,
  type Amount,
  boundedScopes,
  type BudgetScope,
  crosses,
  emptyPurse,
  larger,
  less,
  limitsOf,
  type Purse,
  shareSpent,
} from "./budget.ts";

/** The origin of a model call. */
export interface Spender {
  readonly agent: AgentId;
  readonly channel: ChannelId;
  /** As `discord:1234`; null: no person asked. */
  readonly person: string | null;
}

export interface NamedPurse extends Purse {
  readonly agent: AgentId;
  /** The agent's id, the channel's address, or the person, as `discord:1234`. */
  readonly of: string;
  readonly isSpent: boolean;
}

export interface SpentCall extends Omit<Spender, "person">, Omit<ModelSpending, "calls" | "uncounted"> {
  readonly address: string;
  /** Null: a compaction's call. */
  readonly turn: TurnId | null;
}

export interface BudgetsParts {
  readonly agents: readonly AgentConfig[];
  readonly usage: Pick<UsageStore, "today">;
  readonly priceOf: (model: string) => ModelPrice | undefined;
  readonly now: () => Date;
  readonly log: Logger;
}

interface Counter {
  readonly agent: AgentId;
  readonly scope: BudgetScope;
  readonly of: string;
  spent: Amount;
  /** The requests of running calls. */
  reserved: Amount;
}

const REFRESH_MS = 60_000;
/** Turns with a remembered asker, since work that they have begun may outlive them. */
const MOST_TURNS = 10_000;
const NOTHING: Amount = { tokens: 0, dollars: 0 };

type BudgetedAgents = ReadonlyMap<string, { readonly config: AgentConfig; readonly time: TimeFormat }>;

/**
 * Today's spending, in memory, so that a check is only a look-up. This daemon's calls count from their beginning; other
 * daemons' spending is read at each refresh. Without a configured budget, nothing is counted or read.
 */
export class Budgets implements Disposable {
  readonly #parts: BudgetsParts;
  #agents: BudgetedAgents;
  readonly #askers = new BoundedMap<string>(MOST_TURNS);
  readonly #unpriced = new Set<string>();
  /** By agent: its day, and that day's spending. */
  readonly #days = new Map<AgentId, { readonly day: string; readonly counters: Map<string, Counter> }>();
  #warnings = new Map<ChannelId, NamedPurse[]>();
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: BudgetsParts) {
    this.#parts = parts;
    this.#agents = withTimes(parts.agents);
  }

  /** Replaces the budgets. Counts stay; newly limited spending is read at the next refresh. */
  configure(agents: readonly AgentConfig[]): void {
    this.#agents = withTimes(agents);
    this.#unpriced.clear();
  }

  /** Reads today's spending, and keeps refreshing it. @throws errors of the database */
  async open(): Promise<void> {
    await this.refresh();
    this.#timer = setInterval(() => {
      this.refresh().catch((error: unknown) =>
        this.#parts.log.warn({ why: errorMessage(error) }, "budgets_not_refreshed"),
      );
    }, REFRESH_MS).unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  /** Reads the database. Calls that are counted here but not stored yet stay counted. @throws errors of the database */
  async refresh(): Promise<void> {
    const now = this.#parts.now();
    for (const [zone, agents] of Map.groupBy(this.#bounded, ({ timeZone }) => timeZone)) {
      const rows = await this.#parts.usage.today(zone, now);
      for (const config of agents) this.#learn(config, rows);
    }
  }

  /** Notes the asker of a turn; null: no person. */
  begin(turn: TurnId, person: string | null): void {
    if (person !== null && this.#bounded.length > 0) this.#askers.set(String(turn), person);
  }

  /** The person who asked for a turn; null: nobody, or forgotten. */
  askerOf(turn: TurnId): string | null {
    return this.#askers.get(String(turn)) ?? null;
  }

  /** The first spent budget, running calls included; null: a model may be called. */
  spent(spender: Spender): NamedPurse | null {
    const counters = this.#today(spender.agent);
    const known = this.#keysOf(spender).flatMap(({ key }) => counters.get(key) ?? []);
    return emptyPurse(
      known.map((counter) => this.#named({ ...counter, spent: added(counter.spent, counter.reserved) })),
    );
  }

  /** A call begins: its request counts as spent until the call has ended and is counted. @returns a function that ends this */
  reserve(call: SpentCall): () => void {
    const amount = this.#amountOf({ ...call, calls: 1, uncounted: 0 });
    const held = this.#countersOf(call);
    for (const counter of held) counter.reserved = added(counter.reserved, amount);
    return () => {
      for (const counter of held.splice(0)) counter.reserved = less(counter.reserved, amount);
    };
  }

  count(call: SpentCall): void {
    const budget = this.#agents.get(call.agent)?.config.budget;
    if (budget === undefined) return;
    const amount = this.#amountOf({ ...call, calls: 1, uncounted: 0 });
    for (const counter of this.#countersOf(call)) {
      const before = this.#named(counter);
      counter.spent = added(counter.spent, amount);
      const after = this.#named(counter);
      if (!crosses(before, after, budget.warnAt)) continue;
      this.#parts.log.warn({ ...after }, "budget_nearly_spent");
      this.#warnings.set(call.channel, [...(this.#warnings.get(call.channel) ?? []), after]);
    }
  }

  /** The channel's pending warnings, each once a day. */
  takeWarnings(channel: ChannelId): readonly NamedPurse[] {
    const warnings = this.#warnings.get(channel) ?? [];
    this.#warnings.delete(channel);
    return warnings;
  }

  /** The purses above their share for a warning, the most spent first. */
  low(): NamedPurse[] {
    return this.all().filter(
      (purse) => shareSpent(purse) >= (this.#agents.get(purse.agent)?.config.budget.warnAt ?? 1),
    );
  }

  /** The purses of today with a limit, the most spent first. */
  all(): NamedPurse[] {
    return [...this.#agents.values()]
      .flatMap(({ config }) => [...this.#today(config.id).values()])
      .map((one) => this.#named(one))
      .filter(({ limits }) => limits.tokens > 0 || limits.dollars > 0)
      .toSorted((a, b) => shareSpent(b) - shareSpent(a));
  }

  get #bounded(): AgentConfig[] {
    const all = [...this.#agents.values()].map(({ config }) => config);
    return all.filter(({ budget }) => boundedScopes(budget).length > 0);
  }

  #learn(config: AgentConfig, rows: readonly SpentToday[]): void {
    const sums = new Map<string, Counter>();
    for (const row of rows) {
      if (row.agent !== config.id) continue;
      for (const { scope, key } of this.#keysOf({ ...row, agent: config.id })) {
        const of = { agent: config.id, channel: row.address, person: row.person ?? "" }[scope];
        const sum = sums.get(key) ?? { agent: config.id, scope, of, spent: NOTHING, reserved: NOTHING };
        const amount = this.#amountOf(row);
        // Embedding a whole log in one day costs little, so its tokens must not spend the budget; its money counts.
        sum.spent = added(sum.spent, row.isEmbedding ? { ...amount, tokens: 0 } : amount);
        sums.set(key, sum);
      }
    }
    const counters = this.#today(config.id);
    for (const [key, sum] of sums) {
      const counter = counters.get(key) ?? sum;
      counter.spent = larger(sum.spent, counter.spent);
      counters.set(key, counter);
    }
  }

  /** The counters of an agent's day; yesterday's are dropped. */
  #today(agent: AgentId): Map<string, Counter> {
    const day = this.#agents.get(agent)?.time.day(this.#parts.now()) ?? "";
    const known = this.#days.get(agent);
    if (known?.day === day) return known.counters;
    const counters = new Map<string, Counter>();
    this.#days.set(agent, { day, counters });
    return counters;
  }

  #keysOf({ agent, channel, person }: Spender): { readonly scope: BudgetScope; readonly key: string }[] {
    const known = this.#agents.get(agent);
    if (known === undefined) return [];
    return boundedScopes(known.config.budget)
      .filter((scope) => scope !== "person" || person !== null)
      .map((scope) => ({
        scope,
        key: { agent: "agent", channel: `channel ${channel}`, person: `person ${person}` }[scope],
      }));
  }

  #countersOf(call: SpentCall): Counter[] {
    const person = call.turn === null ? null : this.askerOf(call.turn);
    const { agent, address } = call;
    const counters = this.#today(agent);
    return this.#keysOf({ ...call, person }).map(({ scope, key }) => {
      const of = { agent, channel: address, person: person ?? "" }[scope];
      const counter = counters.get(key) ?? { agent, scope, of, spent: NOTHING, reserved: NOTHING };
      counters.set(key, counter);
      return counter;
    });
  }

  #named({ agent, scope, of, spent }: Counter): NamedPurse {
    const rules = this.#agents.get(agent)?.config.budget;
    const limits = rules === undefined ? NOTHING : limitsOf(rules, scope);
    return { agent, scope, of, limits, spent, isSpent: shareSpent({ limits, spent }) >= 1 };
  }

  #amountOf(spending: ModelSpending): Amount {
    const { dollars, unpriced } = costOf([spending], this.#parts.priceOf);
    for (const model of unpriced) this.#tellUnpriced(model);
    return { tokens: spending.promptTokens + spending.completionTokens, dollars: dollars ?? 0 };
  }

  /** A budget in money cannot limit calls without a known price. */
  #tellUnpriced(model: string): void {
    const isOfMoney = [...this.#agents.values()].some(
      ({ config: { budget } }) => budget.dollars + budget.channelDollars + budget.personDollars > 0,
    );
    if (!isOfMoney || this.#unpriced.has(model)) return;
    this.#unpriced.add(model);
    this.#parts.log.warn({ model }, "budget_without_price: set price_in and price_out under [models]");
  }
}

function withTimes(agents: readonly AgentConfig[]): BudgetedAgents {
  return new Map(agents.map((config) => [config.id, { config, time: createTimeFormat(config.timeZone) }]));
}
