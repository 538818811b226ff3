import { createHash } from "node:crypto";
import PQueue from "p-queue";
import { BackoffTimer } from "../../async/backoff.ts";
import { steadyNow } from "../../async/clock.ts";
import { retryWrite } from "../../async/retry.ts";
import { abortedAfter, withDeadline } from "../../async/deadline.ts";
import { errorMessage } from "../../core/errors.ts";
import { type AgentId, formatAddress, type Seq, type TurnId } from "../../core/ids.ts";
import { StaleEpochError } from "../../store/database/errors.ts";
import type { Subagent, SubagentDraft } from "../../store/turns/subagents.ts";
import { ToolFailure } from "../../tools/tool.ts";
import type { Agent } from "../../turn/agent.ts";
import { modelsOfSubagents, runSubagent, type SubagentChannel } from "../../turn/subagent/subagent.ts";
import type { SubagentSite, SubagentStarter } from "../channel-context.ts";
import type { DueWorkDesk } from "../due-work.ts";
import { agentHere } from "../guests.ts";
import { BoundedCalls } from "../call-bounds.ts";
import { storeCalls, usedBy } from "../model-usage.ts";
import { groupText, outcomeText, SAME_TASK, titleOf } from "./told.ts";

export interface SubagentHost extends SubagentSite {
  /** Nothing from before it is found: a reset. */
  readonly searchFrom: Seq;
}

/** Open subagents of a channel: a model may ask for many. */
const MOST_OPEN = 32;
/** A subagent that was begun so often since its last step, and never got further, has failed. */
const MOST_BEGUN = 3;
/** A database that is away for longer lets the turn fail as well: 25 s. */
const TELL_RETRIES = 8;
const BACKOFF = { fromMs: 500, toMs: 30_000 };

interface Run {
  readonly abort: AbortController;
  readonly over: Promise<void>;
}

/**
 * The subagents of one channel, as long as it has any of which its agent does not know how they ended. Their rows are the truth: what is
 * at work here follows from them, and how their agent is told is decided there.
 */
export class ChannelSubagents implements SubagentStarter {
  #host: SubagentHost;
  readonly #dueWork: DueWorkDesk;
  readonly #onOver: () => void;
  /** Each agent has its own bound. */
  readonly #queues = new Map<AgentId, PQueue>();
  readonly #runs = new Map<number, Run>();
  readonly #settling = new PQueue({ concurrency: 1 });
  /** They are numbered in the order of their calls. */
  readonly #begins = new PQueue({ concurrency: 1 });
  readonly #retry = new BackoffTimer(BACKOFF);
  readonly #closing = new AbortController();
  #spawning = 0;
  /** Nothing was open any more. What is begun from then on is another one's, which this one would begin a second time. */
  #isOver = false;

  /** @param onOver called when nothing is open any more, or the channel is another daemon's: it does nothing from then on */
  constructor(host: SubagentHost, dueWork: DueWorkDesk, onOver: () => void) {
    this.#host = host;
    this.#dueWork = dueWork;
    this.#onOver = onOver;
  }

  /** Those that are begun from now on are of this channel's agents as they are now; one that is at work goes on with what it began with. */
  host(host: SubagentHost): void {
    this.#host = host;
  }

  get epoch(): number {
    return this.#host.owner.epoch;
  }

  /** Ids of those that are at work, or wait for their turn. */
  get running(): readonly number[] {
    return [...this.#runs.keys()];
  }

  /**
   * Begins one, or finds the one that the same turn has begun before, and waits for it a while.
   * @param signal ends the wait; its turn goes on elsewhere, or later
   * @returns what the model is told
   * @throws ToolFailure where none was begun
   */
  async spawn(turn: TurnId, draft: SubagentDraft, takenBack: number, signal: AbortSignal): Promise<string> {
    this.#spawning++;
    try {
      const { store, owner } = this.#host;
      // What an earlier owner has left is ours first: a turn that runs again finds its own there.
      await this.#settling.onIdle();
      const begun = await this.#begins.add(async () =>
        store.subagents.begin(owner, turn, { draft, takenBack, most: MOST_OPEN }),
      );
      if (begun === "full")
        throw new ToolFailure(`${MOST_OPEN} subagents are open here, and no more may be.`);
      if (begun === "changed")
        throw new ToolFailure("No subagent was begun: a message was edited or deleted meanwhile.");
      const run = this.#start(begun.id, draft.agent);
      const { waitMs } = (this.#agentOf(draft.agent) ?? this.#host.agent).config.subagents;
      await withDeadline(run.over, waitMs, AbortSignal.any([signal, this.#closing.signal]));
      signal.throwIfAborted();
      // Its end counts as told from here on: whoever does not hear that this is committed asks again.
      const tell = async (): ReturnType<typeof store.subagents.tellCall> =>
        store.subagents.tellCall(owner, begun.id, draft.callId);
      const { result: told } = await retryWrite(tell, TELL_RETRIES);
      return told === null ? SAME_TASK : outcomeText(told);
    } finally {
      this.#spawning--;
    }
  }

  /** Takes up what the rows say: begins, ends and tells. Must not throw. */
  async settle(): Promise<void> {
    // One that waits will see what there is by then.
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

  /** Resolves when those that are at work now, or wait for their turn, have ended. */
  async atWork(): Promise<void> {
    await Promise.all(Array.from(this.#runs.values(), async ({ over }) => over));
  }

  /** Nobody waits for any of them any more. To be settled next. */
  async drop(): Promise<void> {
    await this.#host.store.subagents.drop(this.#host.owner);
  }

  /** Ends what is at work here; the rows stay as they are. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#retry.cancel();
    for (const { abort } of this.#runs.values()) abort.abort();
    await this.atWork();
    await this.#settling.onIdle();
  }

  async #settleNow(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    const { store, owner } = this.#host;
    const { takenBack } = await store.subagents.look(owner.channel);
    const open = await store.subagents.settle(owner);
    const running = new Map(
      open.flatMap(({ id, agent, state }) => (state === "running" ? [[id, agent]] : [])),
    );
    for (const [id, { abort }] of this.#runs) if (!running.has(id)) abort.abort();
    for (const [id, agent] of running) this.#start(id, agent);
    const groups = Map.groupBy(
      open.filter(({ toldWith }) => toldWith !== null),
      ({ toldWith }) => toldWith ?? 0,
    );
    for (const [first, group] of groups) await this.#tell(first, group, takenBack);
    const isAnyLeft = open.some(({ toldWith }) => toldWith === null);
    // Who asks to have settled what has changed since that look, waits.
    if (isAnyLeft || this.#spawning > 0 || this.#runs.size > 0 || this.#settling.size > 0) return;
    this.#isOver = true;
    this.#onOver();
  }

  /**
   * Tells those that are told together by a message that is due. What was taken back before it was in the log reaches it no more: then
   * it is taken back itself, and what is left is told by another one. Whoever comes by after a crash in between finds that here.
   * @param takenBack as it was before the group was read
   */
  async #tell(first: number, group: readonly Subagent[], takenBack: number): Promise<void> {
    const { store, owner, now, compactorAgent, agent: own } = this.#host;
    // They are of one turn, and so of one agent, unless another one has taken the turn over.
    const by = group.at(-1)?.agent;
    const agent = by === own.config.id ? undefined : by;
    let [told, seen] = [group, takenBack];
    for (let id = `subagent/${first}`; ; id += "/again") {
      const work = { id, title: titleOf(told), text: groupText(told), at: now(), agent };
      const seq = await this.#dueWork.add(owner.channel, work);
      const look = await store.subagents.look(owner.channel);
      if (look.takenBack !== seen) {
        const left = (await store.subagents.settle(owner)).filter(({ toldWith }) => toldWith === first);
        if (isVoided(told, left)) await this.#dueWork.takeBack(owner.channel, id, compactorAgent.digester);
        [told, seen] = [left, look.takenBack];
      }
      const [entry] = await store.log.readAt(owner.channel, [seq]);
      if (entry?.deleted !== true || told.length === 0) break;
    }
    await store.subagents.close(owner.channel, first);
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
    // What a look has found while all was closed is begun by the next daemon: nobody would wait for it here.
    if (aborted.aborted || this.#closing.signal.aborted) return;
    const { store, owner, now } = this.#host;
    const row = await store.subagents.take(owner, id);
    if (row === null) return;
    const agent = this.#agentOf(row.agent) ?? this.#host.agent;
    const { timeoutMs } = agent.config.subagents;
    const late = abortedAfter(Math.max(1, timeoutMs - row.spentMs));
    const spent = new Spending();
    const channel = this.#channelOf(row, spent);
    const why = this.#whyNot(row);
    if (why === null) await runSubagent(agent, row, channel, { now }, AbortSignal.any([aborted, late]));
    else await channel.end("failed", why, null);
    if (late.aborted && !aborted.aborted)
      await channel.end(
        "failed",
        `It was at work for ${Math.round(timeoutMs / 1000)} s, and had not reported.`,
        null,
      );
    if (this.#closing.signal.aborted) await store.subagents.leave(owner, id, spent.since());
  }

  /** Why one that was left behind is not gone on with; null: it is. */
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

  /** Its calls are its agent's, of the question for which its turn was. */
  #callsOf({ turn, question = turn, calls: stored = 0, steps, agent }: Subagent): BoundedCalls {
    const host = { ...this.#host, agent: this.#agentOf(agent) ?? this.#host.agent };
    const person = host.budgets?.askerOf(turn) ?? null;
    const isUnderWay = steps.length > 0;
    return new BoundedCalls(host, {
      purpose: { turn, isSubagent: true },
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
    const { store, owner, address, kind, workspace, recall, memories, events, searchFrom } = host;
    const { channel } = owner;
    const name = formatAddress(address);
    const asking = { agent, channel, workspace, kind };
    const askers = async (): Promise<string[]> => {
      const { open } = await store.subagents.look(channel);
      return open.flatMap(({ asker, seq }) => (seq === askedSeq && asker !== null ? [asker.id] : []));
    };
    return {
      cacheKey: createHash("sha256").update(`${agent} ${name} ${id}`).digest("hex").slice(0, 32),
      async look() {
        const { takenBack } = await store.subagents.look(channel);
        // What it was told may be taken back by now: its end here comes a little later.
        return (await store.subagents.over([id])).length > 0 ? null : takenBack;
      },
      save: async (step, read, seen) => {
        const change = { step, ...read, ...spent.since() };
        return spent.counted(await store.subagents.save(owner, id, { change, takenBack: seen, end: null }));
      },
      end: async (state, result, seen) => {
        const change = { result, ...spent.since() };
        return spent.counted(await store.subagents.save(owner, id, { change, takenBack: seen, end: state }));
      },
      searchHistory: async (text, limit, signal) =>
        recall.find(
          { channel, text, from: searchFrom, to: readTo, limit, signal },
          { memories, asked: { ...asking, text, askers: await askers(), limit, signal } },
        ),
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

/** Whether one of them says less by now: what it may have read was taken back. Pure. */
function isVoided(told: readonly Subagent[], now: readonly Subagent[]): boolean {
  const whole = new Set(told.flatMap(({ number, state }) => (state === "void" ? [] : [number])));
  return now.some(({ number, state }) => state === "void" && whole.has(number));
}

/** What a subagent has spent since that was last kept. */
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

  /** What was told last is kept, unless it was refused. */
  counted<Outcome extends string>(outcome: Outcome): Outcome {
    if (outcome !== "saved") return outcome;
    this.#in -= this.#told.tokensIn;
    this.#out -= this.#told.tokensOut;
    this.#from += this.#told.spentMs;
    return outcome;
  }
}
