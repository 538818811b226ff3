import { createHash } from "node:crypto";
import PQueue from "p-queue";
import { BackoffTimer } from "../../async/backoff.ts";
import { steadyNow } from "../../async/clock.ts";
import { retryWrite } from "../../async/retry.ts";
import { abortedAfter, withDeadline } from "../../async/deadline.ts";
import { errorMessage } from "../../core/errors.ts";
import { type AgentId, formatAddress, type Seq, type TurnId } from "../../core/ids.ts";
import { StaleEpochError } from "../../store/database/errors.ts";
import type { Subagent, SubagentDraft, SubagentStore } from "./subagent-store.ts";
import { ToolFailure } from "../../tools/tool.ts";
import type { Agent } from "../../turn/agent.ts";
import { HistorySearch } from "../../memory/history-search.ts";
import { modelsOfSubagents, runSubagent, type SubagentChannel } from "./subagent-run.ts";
import type { WorkSite } from "../../channel/channel-context.ts";
import type { DueWorkDesk } from "../../channel/due-work.ts";
import { agentHere } from "../../channel/guests.ts";
import { BoundedCalls } from "../../channel/call-bounds.ts";
import { storeCalls, usedBy } from "../../channel/model-usage.ts";
import { groupText, outcomeText, SAME_TASK, titleOf } from "./report-texts.ts";
import { inTrace } from "../../telemetry/trace-scope.ts";

export interface SubagentHost extends WorkSite {
  /** Searches find nothing before it: the last reset. */
  readonly searchFrom: Seq;
}

/** Most open subagents of a channel: a model may ask for many. */
const MOST_OPEN = 32;
/**
 * A subagent that has been started this often in a row without completing a step fails instead of being started again.
 */
const MOST_BEGUN = 3;
/** Number of retries: they cover an outage of the database of 25 s; a longer one also fails the turn. */
const TELL_RETRIES = 8;
const BACKOFF = { fromMs: 500, toMs: 30_000 };

interface Run {
  readonly abort: AbortController;
  readonly over: Promise<void>;
}

/**
 * The subagents of one channel, until each end was reported to its agent. Their rows decide which of them run here, and how they are
 * reported.
 */
export class ChannelSubagents {
  #host: SubagentHost;
  readonly #rows: SubagentStore;
  readonly #dueWork: DueWorkDesk;
  readonly #onOver: () => void;
  /** One queue per agent: each has its own concurrency. */
  readonly #queues = new Map<AgentId, PQueue>();
  readonly #runs = new Map<number, Run>();
  readonly #settling = new PQueue({ concurrency: 1 });
  /** Inserts one at a time, so that numbers follow the order of the calls. */
  readonly #begins = new PQueue({ concurrency: 1 });
  readonly #retry = new BackoffTimer(BACKOFF);
  readonly #closing = new AbortController();
  #spawning = 0;
  /** Nothing is open: a new instance takes over, and this one must start nothing that the new one starts. */
  #isOver = false;

  /** @param onOver called when nothing is open, or another daemon has taken the channel: this instance does nothing from then on */
  constructor(host: SubagentHost, rows: SubagentStore, dueWork: DueWorkDesk, onOver: () => void) {
    this.#host = host;
    this.#rows = rows;
    this.#dueWork = dueWork;
    this.#onOver = onOver;
  }

  /** Uses the channel's current agents for new subagents; a running one keeps its agent. */
  host(host: SubagentHost): void {
    this.#host = host;
  }

  get epoch(): number {
    return this.#host.owner.epoch;
  }

  /** Ids of the running and queued subagents. */
  get running(): readonly number[] {
    return [...this.#runs.keys()];
  }

  /**
   * Begins a subagent, or finds the one that the same turn began before, and waits for it for a limited time.
   * @param signal ends the wait; the turn continues elsewhere or later
   * @returns the tool result for the model
   * @throws ToolFailure if none was begun
   */
  async spawn(turn: TurnId, draft: SubagentDraft, takenBack: number, signal: AbortSignal): Promise<string> {
    this.#spawning++;
    try {
      const { owner } = this.#host;
      // First takes over what an earlier owner left: a repeated turn finds its subagents there.
      await this.#settling.onIdle();
      const begun = await this.#begins.add(async () =>
        this.#rows.begin(owner, turn, { draft, takenBack, most: MOST_OPEN }),
      );
      if (begun === "full")
        throw new ToolFailure(`${MOST_OPEN} subagents are open here, and no more may be.`);
      if (begun === "changed")
        throw new ToolFailure("No subagent was begun: a message was edited or deleted meanwhile.");
      const run = this.#start(begun.id, draft.agent);
      const { waitMs } = (this.#agentOf(draft.agent) ?? this.#host.agent).config.subagents;
      await withDeadline(run.over, waitMs, AbortSignal.any([signal, this.#closing.signal]));
      signal.throwIfAborted();
      // Marks its end as reported; retried until the commit is confirmed.
      const tell = async (): ReturnType<SubagentStore["tellCall"]> =>
        this.#rows.tellCall(owner, begun.id, draft.callId);
      const { result: told } = await retryWrite(tell, TELL_RETRIES);
      return told === null ? SAME_TASK : outcomeText(told);
    } finally {
      this.#spawning--;
    }
  }

  /** Follows the rows: begins, aborts and reports subagents. Must not throw. */
  async settle(): Promise<void> {
    // A queued call reads the rows later, so it covers this one.
    const isDone = this.#isOver || this.#closing.signal.aborted;
    if (this.#settling.size > 0 || isDone) return this.#settling.onIdle();
    return this.#settling.add(async () => {
      try {
        await this.#settleNow();
        this.#retry.succeeded();
      } catch (error) {
        this.#failed(error);
      }
    });
  }

  /** Resolves when the subagents that run or wait now have ended. */
  async atWork(): Promise<void> {
    await Promise.all(Array.from(this.#runs.values(), async ({ over }) => over));
  }

  /** Drops all open subagents in the database. Call {@link settle} next. */
  async drop(): Promise<void> {
    await this.#rows.drop(this.#host.owner);
  }

  /** Aborts the running subagents; their rows stay open. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#retry.cancel();
    for (const { abort } of this.#runs.values()) abort.abort();
    await this.atWork();
    await this.#settling.onIdle();
  }

  async #settleNow(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    const { owner } = this.#host;
    const { takenBack } = await this.#rows.look(owner.channel);
    // One that begins while the rows are read may not be among them.
    const before = [...this.#runs];
    const open = await this.#rows.settle(owner);
    const running = new Map(
      open.flatMap(({ id, agent, state }) => (state === "running" ? [[id, agent]] : [])),
    );
    for (const [id, { abort }] of before) if (!running.has(id)) abort.abort();
    for (const [id, agent] of running) this.#start(id, agent);
    const groups = Map.groupBy(
      open.filter(({ toldWith }) => toldWith !== null),
      ({ toldWith }) => toldWith ?? 0,
    );
    for (const [first, group] of groups) await this.#tell(first, group, takenBack);
    const isAnyLeft = open.some(({ toldWith }) => toldWith === null);
    // A queued call covers changes since these rows were read.
    if (isAnyLeft || this.#spawning > 0 || this.#runs.size > 0 || this.#settling.size > 0) return;
    this.#isOver = true;
    this.#onOver();
  }

  /**
   * Reports a group of subagents to their agent in one due message. If a source is deleted during the append, the report is retracted
   * and sent again without it. Repeatable after a crash.
   * @param takenBack number of edits and deletions, read before the group
   */
  async #tell(first: number, group: readonly Subagent[], takenBack: number): Promise<void> {
    const { store, owner, now, compactorAgent, agent: own } = this.#host;
    // A group belongs to one turn, and so to one agent, unless another agent has taken the turn over.
    const by = group.at(-1)?.agent;
    const agent = by === own.config.id ? undefined : by;
    let [told, seen] = [group, takenBack];
    for (let id = `subagent/${first}`; ; id += "/again") {
      const work = { id, title: titleOf(told), text: groupText(told), at: now(), agent };
      const seq = await this.#dueWork.add(owner.channel, work);
      const look = await this.#rows.look(owner.channel);
      if (look.takenBack !== seen) {
        const left = (await this.#rows.settle(owner)).filter(({ toldWith }) => toldWith === first);
        if (isVoided(told, left)) await this.#dueWork.takeBack(owner.channel, id, compactorAgent.digester);
        [told, seen] = [left, look.takenBack];
      }
      const [entry] = await store.log.readAt(owner.channel, [seq]);
      if (entry?.deleted !== true || told.length === 0) break;
    }
    await this.#rows.close(owner.channel, first);
  }

  #failed(error: unknown): void {
    const { log, address } = this.#host;
    if (error instanceof StaleEpochError) {
      this.#onOver();
      void this.close();
      return;
    }
    log.warn({ channel: formatAddress(address), why: errorMessage(error) }, "subagents_failed");
    if (!this.#closing.signal.aborted) this.#retry.schedule(() => void this.settle());
  }

  #agentOf(id: AgentId): Agent | undefined {
    return agentHere(this.#host.agent, this.#host.guests, id);
  }

  #queueOf(id: AgentId): PQueue {
    const { maxParallel } = (this.#agentOf(id) ?? this.#host.agent).config.subagents;
    const queue = this.#queues.get(id) ?? new PQueue({ concurrency: maxParallel });
    queue.concurrency = maxParallel;
    this.#queues.set(id, queue);
    return queue;
  }

  #start(id: number, agent: AgentId): Run {
    const known = this.#runs.get(id);
    if (known !== undefined) return known;
    const abort = new AbortController();
    const over = this.#queueOf(agent)
      .add(async () => this.#run(id, abort.signal))
      .catch((error: unknown) => this.#failed(error))
      .finally(() => {
        this.#runs.delete(id);
        void this.settle();
      });
    const run = { abort, over };
    this.#runs.set(id, run);
    return run;
  }

  async #run(id: number, aborted: AbortSignal): Promise<void> {
    // Closing does not wait for a subagent that was found late: the next daemon begins it.
    if (aborted.aborted || this.#closing.signal.aborted) return;
    const { owner, now } = this.#host;
    const row = await this.#rows.take(owner, id);
    if (row === null) return;
    const agent = this.#agentOf(row.agent) ?? this.#host.agent;
    const { timeoutMs } = agent.config.subagents;
    const late = abortedAfter(Math.max(1, timeoutMs - row.spentMs));
    const spent = new Spending();
    const channel = this.#channelOf(row, spent);
    const why = this.#whyNot(row);
    const ending = AbortSignal.any([aborted, late]);
    if (why === null) await inTrace("work", async () => runSubagent(agent, row, channel, { now }, ending));
    else await channel.end("failed", why, null);
    if (late.aborted && !aborted.aborted)
      await channel.end(
        "failed",
        `It was at work for ${Math.round(timeoutMs / 1000)} s, and had not reported.`,
        null,
      );
    if (this.#closing.signal.aborted) await this.#rows.leave(owner, id, spent.since());
  }

  /** Why a subagent cannot be run; null: it can. */
  #whyNot({ begun, persona, model, agent }: Subagent): string | null {
    const config = this.#agentOf(agent)?.config;
    if (config === undefined)
      return `The configuration has changed: the agent that had begun it, ${this.#host.guests.nameOf(agent)}, does not answer here any more.`;
    const { enabled, personas } = config.subagents;
    if (!enabled) return "The configuration has changed: there are no subagents here any more.";
    if (persona !== null && personas[persona] === undefined)
      return `The configuration has changed: there is no persona "${persona}" any more.`;
    if (model !== null && !modelsOfSubagents(config).includes(model))
      return `The configuration has changed: there is no model "${model}" here any more.`;
    if (begun > MOST_BEGUN)
      return `It was begun ${MOST_BEGUN} times, and ended each time before it got any further.`;
    return null;
  }

  /** Its calls count for its agent and for the question of its turn. */
  #callsOf({ turn, question = turn, calls: stored = 0, steps, agent }: Subagent): BoundedCalls {
    const host = { ...this.#host, agent: this.#agentOf(agent) ?? this.#host.agent };
    const person = host.budgets?.askerOf(turn) ?? null;
    const isUnderWay = steps.length > 0;
    return new BoundedCalls(host, {
      purpose: { turn, feature: "subagent" },
      question,
      stored,
      person,
      isUnderWay,
    });
  }

  #channelOf(subagent: Subagent, spent: Spending): SubagentChannel {
    const host = this.#host;
    const { id, readTo, askedSeq, agent } = subagent;
    const calls = this.#callsOf(subagent);
    const { owner, address, kind, workspace, recall, memories, events, searchFrom: from } = host;
    const rows = this.#rows;
    const { channel } = owner;
    const name = formatAddress(address);
    const asking = { agent, channel, workspace, kind };
    const history = new HistorySearch(recall, host.store.lines, host.now);
    const { timeZone } = host.agent.config;
    const askers = async (): Promise<string[]> => {
      const { open } = await rows.look(channel);
      return open.flatMap(({ asker, seq }) => (seq === askedSeq && asker !== null ? [asker.id] : []));
    };
    return {
      cacheKey: createHash("sha256").update(`${agent} ${name} ${id}`).digest("hex").slice(0, 32),
      async look() {
        const { takenBack } = await rows.look(channel);
        // Its task may have been deleted; `settle` aborts it a little later.
        return (await rows.over([id])).length > 0 ? null : takenBack;
      },
      save: async (step, read, seen) => {
        const change = { step, ...read, ...spent.since() };
        return spent.counted(await rows.save(owner, id, { change, takenBack: seen, end: null }));
      },
      end: async (state, result, seen) => {
        const change = { result, ...spent.since() };
        return spent.counted(await rows.save(owner, id, { change, takenBack: seen, end: state }));
      },
      async searchHistory(request, signal) {
        const { limit, query } = request;
        const asked = { ...asking, text: query ?? "", askers: await askers(), limit, signal };
        return history.search(request, { channel, from, to: readTo, timeZone, signal }, { memories, asked });
      },
      readMessages: async (request, signal) =>
        history.read(request, { channel, from, to: readTo, timeZone, signal }, null),
      recallMemories: async (text, limit, signal) =>
        memories.find({ ...asking, text, askers: await askers(), limit, signal }),
      onAttempt: (model, estimatedTokens) => calls.begin(model, estimatedTokens),
      onCall: (record, estimatedTokens) => {
        const row = calls.end(record, estimatedTokens);
        const { tokensIn, tokensOut } = usedBy(row);
        spent.add(tokensIn, tokensOut);
        storeCalls(host, [row]);
      },
      onToolFailure: (tool, why) => events.emit({ type: "tool_failed", channel: name, tool, why }),
    };
  }
}

/** Whether one of the reported subagents is void now: a text that it may have read was edited or deleted. Pure. */
function isVoided(told: readonly Subagent[], now: readonly Subagent[]): boolean {
  const whole = new Set(told.flatMap(({ number, state }) => (state === "void" ? [] : [number])));
  return now.some(({ number, state }) => state === "void" && whole.has(number));
}

/** Tokens and time of a subagent since they were last stored. */
class Spending {
  #in = 0;
  #out = 0;
  #from = steadyNow();
  #told = { tokensIn: 0, tokensOut: 0, spentMs: 0 };

  add(tokensIn: number, tokensOut: number): void {
    this.#in += tokensIn;
    this.#out += tokensOut;
  }

  since(): { tokensIn: number; tokensOut: number; spentMs: number } {
    this.#told = { tokensIn: this.#in, tokensOut: this.#out, spentMs: steadyNow() - this.#from };
    return this.#told;
  }

  /** Subtracts the last reported amounts once they are saved. */
  counted<Outcome extends string>(outcome: Outcome): Outcome {
    if (outcome !== "saved") return outcome;
    this.#in -= this.#told.tokensIn;
    this.#out -= this.#told.tokensOut;
    this.#from += this.#told.spentMs;
    return outcome;
  }
}
