/**
 * The turns of a channel: which messages the next turn answers, its requests, and its settlement. They read and write
 * the channel's log through its history and store; only the outbox and drafts reach the platform.
 */

import { type Agent, budgetOf } from "../../turn/agent.ts";
import { retryWrite } from "../../async/retry.ts";
import { attachedBy, MOST_MESSAGES } from "../../core/attached-file.ts";
import { randomUUID } from "node:crypto";
import { dueMessages, type History, isEditedSince } from "../../core/history.ts";
import { type ChannelAddress, formatAddress, type Seq, type TurnId } from "../../core/ids.ts";
import { platformIdOf } from "../../core/message.ts";
import { isOfInfrastructure, StaleEpochError } from "../../store/database/errors.ts";
import type { RunningTurn, TurnClaim } from "../../store/turns/turn-rows.ts";
import type { Settlement, TurnEnd } from "../../store/turns/turns.ts";
import { sliceWhole, storableText } from "../../text/text.ts";
import { type AskingMessage, type FirstRecall, firstRecall, recallFor } from "../../turn/first-recall.ts";
import type { TurnResult } from "../../turn/outcome.ts";
import { runTurn } from "../../turn/turn.ts";
import type { ActorParts } from "../channel-context.ts";
import { inTrace } from "../../telemetry/trace-scope.ts";
import { LastSent, windowUsedBy } from "./context-record.ts";
import { asGuest, GuestTurns, type RequestParts, type TurnParts } from "./guest-turns.ts";
import { createTurnChannel, type TurnChannelParts } from "./turn-channel.ts";
import { hasBegunWork, steeredTo } from "./steering.ts";
import type { Draft } from "../delivery/draft.ts";
import { askFresh } from "../delivery/fresh.ts";
import { type AnsweredMessages, askedBy, begunBy, needsItsTools, nextTurn } from "./next-turn.ts";
import type { GuardedHistory } from "../guarded-history.ts";
import { spentOn } from "../model-usage.ts";
import type { Outbox } from "../delivery/outbox.ts";
import { TurnCalls } from "./turn-calls.ts";
import { tellBudgets } from "./turn-budget.ts";
import { toSettlement } from "./settlement.ts";
import { reasonToGiveUp } from "./turn-attempts.ts";
import { recallableBy, TurnRecall } from "./turn-recall.ts";
import { steadyNow } from "../../async/clock.ts";
import type { Platform } from "../../platforms/platform.ts";

const STOP = "stop";
/** Longest part of a provider's message that is logged, in characters. */
const MOST_SAID = 200;

/** Why a running turn is ended from outside: `/stop`, changed messages, a closing actor. */
export type Interruption = typeof STOP | "redo" | "close";

/** The part of an answer that a turn's draft has shown. */
interface Opened {
  readonly idempotencyKey: string;
  /** The platform's id of the message that shows it; null: none known. */
  readonly shown: string | null;
}

interface RunParts {
  readonly asked: AnsweredMessages;
  readonly draft: Draft | null;
  readonly calls: TurnCalls;
  readonly recall: TurnRecall;
  readonly sent: LastSent;
  readonly by: TurnParts;
}

type Sent = NonNullable<ReturnType<typeof toSettlement>["entry"]>;

/** Runs one turn of a channel at a time: its messages, draft and settlement. */
export class TurnRunner {
  readonly #parts: ActorParts;
  readonly #history: GuardedHistory;
  readonly #outbox: Outbox;
  /** When messages became durable, by this process' clock, to measure how long a person waited. */
  readonly #acceptedAt = new Map<Seq, Date>();
  /** The search that began ahead of the next turn. */
  #ahead: TurnRecall | null = null;
  /** The message whose append was to begin its turn, and the turn that then began. */
  #expected: { readonly seq: Seq; turn: RunningTurn | null } | null = null;
  /** The last turn with failures of its own, and their count. */
  #failed: { readonly turn: TurnId; readonly times: number } | null = null;
  readonly #guests: GuestTurns;
  #takenTo: Seq = 0;
  #running: {
    readonly turn: RunningTurn;
    readonly interrupt: AbortController;
    readonly startedAt: number;
    readonly recall: TurnRecall;
  } | null = null;

  constructor(parts: ActorParts, history: GuardedHistory, outbox: Outbox, request: RequestParts) {
    this.#parts = parts;
    this.#history = history;
    this.#outbox = outbox;
    this.#guests = new GuestTurns(parts, history, request);
  }

  /** Null: no turn runs. */
  get runningForMs(): number | null {
    return this.#running && steadyNow() - this.#running.startedAt;
  }

  get running(): RunningTurn | null {
    return this.#running?.turn ?? null;
  }

  /** A message became durable just now. */
  accepted(seq: Seq): void {
    this.#acceptedAt.set(seq, new Date(steadyNow()));
  }

  /** A message was accepted that no turn has settled yet. */
  get isAwaited(): boolean {
    return this.#acceptedAt.size > 0;
  }

  /** A message after `seq` was accepted that no turn has settled yet. */
  isAwaitedBehind(seq: Seq): boolean {
    return this.#acceptedAt.keys().some((accepted) => accepted > seq);
  }

  /** Messages up to here belong to a turn that has begun or is beginning. */
  get takenTo(): Seq {
    return this.#takenTo;
  }

  #take({ toSeq }: Pick<RunningTurn, "toSeq">): void {
    this.#takenTo = Math.max(this.#takenTo, toSeq);
  }

  /** Messages up to here are settled. */
  forget(settledTo: Seq): void {
    for (const seq of this.#acceptedAt.keys()) if (seq <= settledTo) this.#acceptedAt.delete(seq);
  }

  /** A text was deleted: a turn whose model has read it, or is about to, begins again. */
  gone(seq: Seq): void {
    this.#dropAhead();
    if (seq <= (this.#running?.turn.toSeq ?? 0)) this.interrupt("redo");
  }

  /**
   * Memories or notes of another channel were deleted: drops the search ahead.
   * @returns whether a running turn may have read them
   */
  async isOutdated(): Promise<boolean> {
    this.#dropAhead();
    if (this.#running === null) return false;
    const { recall, turn } = this.#running;
    // Without the database the turn could not settle either.
    return !(await this.#history.hasAll(turn, recall.found.memories).catch(() => false));
  }

  /** Resolves once the running turn has no search; null: it has none. */
  get searches(): Promise<void> | null {
    const recall = this.#running?.recall;
    return recall?.isSearching === true ? recall.settled() : null;
  }

  /**
   * Prepares a turn for a message that is being appended: begins its search ahead.
   * @returns the claim with which the append begins the turn
   */
  expect(message: AskingMessage): TurnClaim {
    const { lastSeq } = this.#history.current;
    const seq = lastSeq + 1;
    this.#expected = { seq, turn: null };
    const asking = { ...message, text: storableText(message.text) };
    const wanted = recallFor(this.#history.current, [asking], recallableBy(this.#parts));
    this.#lookAhead({ fromSeq: seq, toSeq: seq }, wanted);
    return { epoch: this.#parts.owner.epoch, lastSeq };
  }

  /** The turn of a message has begun with its append. */
  begun(turn: RunningTurn | null): void {
    if (turn === null) return;
    this.#take(turn);
    if (this.#expected?.seq === turn.fromSeq) this.#expected.turn = turn;
  }

  /** Drops the preparation after the log was read again, or after a reset. */
  expectNothing(): void {
    this.#expected = null;
  }

  /**
   * Begins the turn that was left running, or one for the due messages.
   * @returns null: nothing is due; `unknown`: the log has a running turn that this process did not begin
   */
  async next(leftBehind: RunningTurn | null): Promise<RunningTurn | "unknown" | null> {
    const { store, owner, features } = this.#parts;
    const answerer = this.#guests.answerer;
    if (leftBehind !== null) {
      this.#take(leftBehind);
      const { id, failures, agent: before, ...turn } = leftBehind;
      const by = answerer(before);
      return store.turns.beginAgain(
        owner,
        { id, failures, ...turn, ...(by !== undefined && { agent: by }) },
        this.#failed?.turn === id ? this.#failed.times : failures,
      );
    }
    const history = await this.#history.snapshot();
    const { agent } = this.#guests.partsOf(dueMessages(history)[0]?.agent);
    const chosen = nextTurn(history, budgetOf(agent, agent.config.model), answerer);
    if (chosen === null) return null;
    const begun = this.#expected?.seq === chosen.fromSeq ? this.#expected.turn : null;
    this.#expected = null;
    const range = begun ?? chosen;
    this.#take(range);
    // The search runs while the turn's row is written. A guest's search depends on its brief, so it begins later.
    if (range.agent !== undefined) this.#dropAhead();
    else {
      const wanted = firstRecall(history, range.toSeq, recallableBy(this.#parts));
      if (this.#ahead?.isFor(range, wanted) !== true) this.#lookAhead(range, wanted);
    }
    if (begun !== null) return begun;
    const answered = dueMessages(history).filter(({ seq }) => seq <= range.toSeq);
    const by = await begunBy(answered, async (id) => features.begunBy(owner.channel, id));
    return (await store.turns.begin(owner, range.fromSeq, range.toSeq, range.agent, by)) ?? "unknown";
  }

  #dropAhead(): void {
    this.#ahead?.[Symbol.dispose]();
    this.#ahead = null;
  }

  #lookAhead(range: Pick<RunningTurn, "fromSeq" | "toSeq">, wanted: FirstRecall): void {
    this.#dropAhead();
    this.#ahead = new TurnRecall(this.#parts, this.#history, range);
    this.#ahead.start(wanted);
  }

  /** Ends the running turn. @returns false if none runs */
  interrupt(reason: Interruption): boolean {
    this.#dropAhead();
    this.#running?.interrupt.abort(reason);
    return this.#running !== null;
  }

  /**
   * Runs a turn to its settlement, and hands its answer to the outbox.
   * @param isStopped `/stop` came before it could begin: it says nothing
   * @returns false if it was interrupted before it settled: it begins again here or at the next owner
   * @throws if the log could not be written: the turn may be settled nevertheless
   */
  async run(turn: RunningTurn, isStopped: boolean): Promise<boolean> {
    try {
      return await inTrace("turn", async () => this.#attempt(turn, isStopped));
    } catch (error) {
      const isOurs = !isOfInfrastructure(error) && !(error instanceof StaleEpochError);
      if (isOurs) this.#failed = { turn: turn.id, times: turn.failures + 1 };
      throw error;
    }
  }

  async #attempt(turn: RunningTurn, isStopped: boolean): Promise<boolean> {
    const { events, address, platform, owner, features, contexts } = this.#parts;
    const interrupt = new AbortController();
    if (isStopped) interrupt.abort(STOP);
    const by = this.#guests.of(turn);
    using recall = this.#ahead ?? new TurnRecall(by.parts, by.view ?? this.#history, turn);
    this.#running = { turn, interrupt, startedAt: steadyNow(), recall };
    // From here on, a deletion ends the turn; before, it voided the search ahead.
    this.#ahead = null;
    interrupt.signal.addEventListener("abort", () => recall[Symbol.dispose](), { once: true });
    const idempotencyKey = randomUUID();
    await this.#history.renew();
    const asked = askedBy(await this.#history.snapshot(), turn, this.#acceptedAt, features.gates);
    const calls = new TurnCalls({ ...by.parts, history: this.#history }, turn, asked);
    const sent = new LastSent();
    const draft = this.#outbox.openDraft(turn, idempotencyKey, asked.inReplyTo);
    using _ = showTyping(platform, address, asked.inReplyTo);
    const channel = formatAddress(address);
    const { fromSeq, toSeq, attempts: attempt } = turn;
    const { id: agent, model } = by.parts.agent.config;
    events.emit({ type: "turn_started", channel, turn: turn.id, fromSeq, toSeq, attempt, agent, model });
    try {
      const result = await this.#run(turn, { asked, draft, calls, recall, sent, by }, interrupt.signal);
      // Its message's id must be stored before the settlement reads it.
      await draft?.close();
      if (interrupt.signal.aborted && interrupt.signal.reason !== STOP) return false;
      const opened = { idempotencyKey, shown: draft?.messageId ?? null };
      // One transaction with the turn: if its outcome is unknown, the calls' rows are not written twice.
      const told = { ...result, calls: calls.take(), recalled: recall.found };
      await this.#settle(turn, asked, told, opened, windowUsedBy(sent.current));
      this.#guests.keep(turn, by.view);
      if (asked.releases.length > 0) await features.gates.settled(owner.channel, asked.releases);
      if (sent.current !== null) {
        const prefixes = this.#guests.prefixes(turn.agent);
        contexts.add(owner.channel, prefixes, { sent: sent.current, turn, recalled: recall.found });
      }
      tellBudgets(this.#parts);
      return true;
    } finally {
      calls.store();
      await draft?.close();
      this.#running = null;
    }
  }

  async #run(
    turn: RunningTurn,
    { asked, draft, calls, recall, sent, by }: RunParts,
    signal: AbortSignal,
  ): Promise<TurnResult> {
    const { parts, request, view } = by;
    if (signal.aborted) return { outcome: { kind: "stopped", text: "" }, modelMs: 0 };
    if (asked.count === 0)
      return { outcome: { kind: "skipped", reason: "every message was deleted" }, modelMs: 0 };
    const why = reasonToGiveUp(turn);
    if (why !== null) return { outcome: { kind: "failed", failure: "gave_up", why }, modelMs: 0 };
    const refused = calls.refused();
    if (refused !== null) return refused;
    await request.renewTools(needsItsTools(this.#history.current, turn, asked.releases), signal);
    const channel = createTurnChannel({
      ...parts,
      recall,
      allRecall: this.#parts.recall,
      own: this.#parts.agent,
      history: this.#history,
      turn,
      draft,
      calls,
      sent,
      steering: this.#steering(turn, { asked, by }),
      usage: request.usage,
      lastRequest: request.last,
      onRequest: request.onRequest,
      onLanded: request.onLanded,
    });
    return runTurn(parts.agent, asGuest(channel, view), turn, { now: parts.now }, signal);
  }

  /** An answer in the form in which it is sent, with the number of its messages and files. */
  async #asSent(
    turn: RunningTurn,
    entry: Sent | null,
    agent: Pick<Agent, "config">,
  ): Promise<{ readonly entry: Sent | null; readonly count: number }> {
    if (entry === null) return { entry, count: 0 };
    const texts = this.#outbox.split(entry, turn).length;
    if (entry.kind !== "assistant" || entry.stopped) return { entry, count: texts };
    const files = await this.#countFiles(turn, agent);
    const isFile =
      agent.config.longAnswers === "file" &&
      this.#parts.platform.capabilities.takesFiles === true &&
      texts > MOST_MESSAGES;
    if (!isFile) return { entry, count: texts + files };
    const asFile = { ...entry, asFile: true as const };
    return { entry: asFile, count: this.#outbox.split(asFile, turn).length + 1 + files };
  }

  /** Files that go out behind the answer, each a part of it. */
  async #countFiles({ id }: RunningTurn, { config }: Pick<Agent, "config">): Promise<number> {
    const { platform, store, owner } = this.#parts;
    if (!config.files.attach || platform.capabilities.takesFiles !== true) return 0;
    const { result } = await retryWrite(async () => store.log.readCalls(owner.channel, id));
    return attachedBy(result)?.length ?? 0;
  }

  /** What people say while a turn works with tools, as the turn takes it in: it changes the turn's range. */
  #steering(turn: RunningTurn, { asked, by }: Pick<RunParts, "asked" | "by">): TurnChannelParts["steering"] {
    const { store, owner, events, address } = this.#parts;
    const { agent } = by.parts;
    const { steer, name, model } = agent.config;
    if (!steer) return { isSteered: () => false, takeIn: async () => false };
    const steered = (history: History): Seq | null =>
      steeredTo(history, turn, {
        name,
        answerer: this.#guests.answerer,
        budget: budgetOf(agent, model),
      });
    return {
      isSteered: () => steered(this.#history.current) !== null,
      takeIn: async () => {
        const history = await this.#history.snapshot();
        const isNews = history.lastSeq > turn.toSeq && hasBegunWork(history, turn);
        const toSeq = isNews ? steered(history) : null;
        if (toSeq === null) return false;
        await store.turns.takeIn(owner, turn.id, toSeq);
        const taken = dueMessages(history).filter(({ seq }) => seq > turn.toSeq && seq <= toSeq);
        turn.toSeq = toSeq;
        this.#take(turn);
        // An edit or a deletion by another daemon may have come before the row.
        await this.#history.renew();
        asked.inReplyTo.push(...taken.flatMap(({ messageId }) => platformIdOf(messageId) ?? []));
        const channel = formatAddress(address);
        events.emit({ type: "turn_steered", channel, turn: turn.id, messages: taken.length, toSeq });
        return true;
      },
    };
  }

  async #settle(
    turn: RunningTurn,
    asked: AnsweredMessages,
    result: TurnResult & Required<Pick<Settlement, "calls" | "recalled">>,
    opened: Opened,
    used: ReturnType<typeof windowUsedBy>,
  ): Promise<void> {
    const { now, indexer, owner } = this.#parts;
    const { agent } = this.#guests.partsOf(turn.agent);
    const {
      entry: made,
      told,
      logged,
      ...end
    } = toSettlement(
      result.outcome,
      (kind, calls = 0) => agent.texts.failure({ kind, calls }),
      isEditedSince(this.#history.current, turn),
      this.#guests.missed(turn),
    );
    const at = now();
    const { entry, count } = await this.#asSent(turn, made, agent);
    const idempotencyKeys = Array.from({ length: count }, (_, part) =>
      part === 0 ? opened.idempotencyKey : randomUUID(),
    );
    const { modelMs, calls, recalled } = result;
    const handOff = this.#guests.handedOver(result.outcome, turn, at);
    const settlement: Settlement = { ...end, ...handOff, modelMs, entry, idempotencyKeys, calls, recalled };
    const { result: settled, isFresh } = await askFresh(async () =>
      this.#history.settle(turn, settlement, at),
    );
    const { parts, handedOver: handed } = settled;
    if (handed !== null) this.accepted(handed.seq);
    if (handed !== null || entry !== null) indexer.mark(owner.channel);
    const { inReplyTo, acceptedAt } = asked;
    if (entry === null || settled.entry === null) {
      // Includes the part that an earlier run of this turn has shown. The row lacks the id if the draft could not store
      // it.
      await this.#outbox.recover();
      if (opened.shown !== null) this.#outbox.withdraw(opened.shown, null);
    } else {
      this.#outbox.deliver({
        turnId: turn.id,
        seq: settled.entry.seq,
        text: entry.text,
        kind: entry.kind === "assistant" ? "answer" : "notice",
        ...(entry.asFile === true && { asFile: true }),
        ...(turn.agent !== undefined && { agent: turn.agent }),
        inReplyTo,
        modelMs,
        acceptedAt,
        mayBeSent: !isFresh,
        // The row lacks the id if the draft could not store it.
        parts: parts.map((one) =>
          one.part === 0 ? { ...one, messageId: one.messageId ?? opened.shown } : one,
        ),
      });
    }
    const said = logged === undefined ? {} : { said: logged };
    const spent = { ...spentOn(calls), ...used };
    this.tell(turn.id, { ...end, reason: told, modelMs, inReplyTo, ...said }, acceptedAt, spent);
    this.forget(turn.toSeq);
  }

  /** Reports a turn's end once it is in the log, also to the work that it has begun. */
  tell(
    turn: TurnId,
    end: TurnEnd & { readonly said?: string },
    acceptedAt: Date = new Date(steadyNow()),
    spent: ReturnType<typeof spentOn> & ReturnType<typeof windowUsedBy> = {},
  ): void {
    const { events, address, owner, features, masked = (text) => text } = this.#parts;
    const { state: outcome, reason, inReplyTo, modelMs } = end;
    // Masks first: a truncated secret would not be found.
    const said = end.said === undefined ? {} : { said: sliceWhole(masked(end.said), 0, MOST_SAID) };
    const turnMs = Math.round(steadyNow() - acceptedAt.getTime());
    const channel = formatAddress(address);
    const told = { channel, turn, outcome, reason, ...said, inReplyTo, turnMs, modelMs };
    events.emit({ type: "turn_settled", ...told, ...spent });
    features.background.turnEnded(owner.channel);
  }
}

/** Interval of repeating the typing indicator, ms: Discord hides it after ten seconds, and takes no second one for eight. */
const TYPING_REPEAT_MS = 8500;

/** Shows the platform's typing indicator until it is disposed of. */
function showTyping(platform: Platform, address: ChannelAddress, inReplyTo: readonly string[]): Disposable {
  const show = (isWorking: boolean): void => platform.showTyping?.(address, inReplyTo, isWorking);
  const timer =
    platform.showTyping === undefined ? undefined : setInterval(() => show(true), TYPING_REPEAT_MS);
  timer?.unref();
  show(true);
  return {
    [Symbol.dispose]() {
      clearInterval(timer);
      show(false);
    },
  };
}
