import { StaleEpochError } from "../store/database/errors.ts";
import { Mutex } from "async-mutex";
import type { CommitOutcome, Job, JobResult, Landed } from "../core/compaction.ts";
import type { Entry, TurnEntryDraft } from "../core/entry.ts";
import {
  appendEntries,
  cover,
  dueMessages,
  type History,
  omit,
  settle,
  type TurnRange,
} from "../core/history.ts";
import type { AgentId, MemoryId, Seq, Owner } from "../core/ids.ts";
import type { ResetTurn } from "../store/channels/channels.ts";
import type { ApprovalNews } from "../store/turns/approvals.ts";
import type { SubstituteMaker } from "../store/compaction/jobs.ts";
import type { ChannelSnapshot } from "../store/channels/snapshot.ts";
import type { Store } from "../store/store.ts";
import type { Settled, Settlement } from "../store/turns/turns.ts";

/** Keeps the changes of a history apart, each with its write and the reads that belong to it. */
export type HistoryMutex = Pick<Mutex, "isLocked" | "runExclusive">;

export interface HistoryOptions {
  readonly mutex?: HistoryMutex | undefined;
  readonly othersWrite?: boolean | undefined;
}

/**
 * A channel's history, guarded by a mutex. Every change is in the log before it is in memory, so that memory is never
 * ahead: after any crash, folding the rows again gives what was here.
 */
export class GuardedHistory {
  readonly #store: Store;
  readonly #owner: Owner;
  readonly #mutex: HistoryMutex;
  readonly #othersWrite: boolean;
  #history: History;
  /** How often a text was edited or taken back, as of the rows that were folded last. */
  #takenBack: number;
  /** How many edits were noted since then: each is one of them. */
  #noted = 0;
  /** The last deletion, as of these rows, if they do not say that turns know of it. */
  #lastDeletion: string | null;
  /** How often rows were folded. */
  #folds = 0;
  /** How often something has gone elsewhere, and how many of these times were looked into. */
  #doubts = 0;
  #settledDoubts = 0;

  /** @param how.othersWrite other daemons may change the channel's texts; default: true */
  constructor(
    store: Store,
    owner: Owner,
    { history, takenBack, lastDeletion }: Pick<ChannelSnapshot, "history" | "takenBack" | "lastDeletion">,
    { mutex = new Mutex(), othersWrite = true }: HistoryOptions = {},
  ) {
    this.#mutex = mutex;
    this.#othersWrite = othersWrite;
    this.#store = store;
    this.#owner = owner;
    this.#history = history;
    this.#takenBack = takenBack;
    this.#lastDeletion = lastDeletion;
  }

  /** The history once all changes under way are in it. An immutable value: it does not change under its reader. */
  async snapshot(): Promise<History> {
    // Without a change under way there is nothing to wait for.
    return this.#mutex.isLocked() ? this.#mutex.runExclusive(() => this.#history) : this.#history;
  }

  /** The history as it is at this instant, for a look from outside. */
  get current(): History {
    return this.#history;
  }

  /** Adds an entry that was appended to the log. A known entry is ignored; a gap before it is read from the log. */
  async observe(entry: Entry): Promise<void> {
    await this.#mutex.runExclusive(async () => this.#take([entry]));
  }

  /** Reads what the log has beyond the history (a notice of an edit, another writer's message). */
  async catchUp(toSeq: Seq): Promise<void> {
    await this.#mutex.runExclusive(async () => this.#readTo(toSeq));
  }

  /** Notes that the text at `seq` was edited; the notice at `notedSeq` says so to the model. */
  async noticeEdit(seq: Seq, notedSeq: Seq): Promise<void> {
    await this.#mutex.runExclusive(async () => {
      await this.#readTo(notedSeq);
      // The summary over it is to be written again, or one that was written ahead is void, and so far only its row says so.
      if (seq <= this.#history.coveredTo || this.#history.ahead.length > 0)
        this.#history = cover(this.#history, await this.#store.coverage(this.#owner.channel));
    });
  }

  /**
   * Appends what a turn wrote, with what is noted of approvals.
   * @param shown memories that its model was shown when it was asked
   */
  async appendTurnEntries(
    turn: TurnRange,
    drafts: readonly TurnEntryDraft[],
    at: Date,
    approvals?: ApprovalNews,
    shown: readonly MemoryId[] = [],
  ): Promise<void> {
    const folds = this.#folds;
    await this.#mutex.runExclusive(async () => {
      const { channel } = this.#owner;
      const after = { id: turn.id, after: turn.toSeq, agent: turn.agent, shown };
      const written = await this.#store.log.appendTurnEntries(this.#owner, after, drafts, at, approvals);
      const [first, last] = [written[0], written.at(-1)];
      // The rows were folded while it waited, without what was deleted: of that the log has kept nothing here, and nobody folds them again.
      const isLate = folds !== this.#folds && first !== undefined && last !== undefined;
      await this.#take(isLate ? await this.#store.log.read(channel, first.seq, last.seq) : written);
    });
  }

  /** Settles a turn in one transaction. */
  async settle(turn: TurnRange, settlement: Settlement, at: Date): Promise<Settled> {
    return this.#mutex.runExclusive(async () => {
      const settled = await this.#store.turns.settle(this.#owner, turn, settlement, at);
      await this.#take([settled.entry, settled.handedOver].filter((entry) => entry !== null));
      this.#history = settle(this.#history, turn.toSeq);
      return settled;
    });
  }

  /**
   * Leaves the entries up to `toSeq` out of the view.
   * @returns how many entries are left out now
   * @throws StaleEpochError if the channel has a new owner
   */
  async omit(toSeq: Seq): Promise<number> {
    return this.#mutex.runExclusive(async () => {
      const { channel, epoch } = this.#owner;
      const isOurs = await this.#store.channels.omit(channel, epoch, toSeq);
      if (!isOurs) throw new StaleEpochError(`channel ${channel} has another owner`);
      this.#history = omit(this.#history, toSeq);
      return this.#history.omission?.count ?? 0;
    });
  }

  /**
   * Commits a staged job, then swaps the head of the history. Idempotent.
   * @param maker as for {@link JobStore.commit}
   */
  async commit(job: Pick<Job, "id" | "attempt">, maker?: SubstituteMaker): Promise<CommitOutcome> {
    return this.#mutex.runExclusive(async () => {
      const { channel } = this.#owner;
      const outcome = await this.#store.jobs.commit(job, maker);
      if (outcome === "committed") this.#history = cover(this.#history, await this.#store.coverage(channel));
      // Another attempt may have committed the job.
      if (outcome === "gone") await this.#fold();
      return outcome;
    });
  }

  /**
   * Stores a summary that was written ahead. It is in no view before {@link commitAhead}.
   * @returns false: it is ours no more, or a deletion or an edit made it stale
   */
  async stageAhead(job: Job, result: JobResult): Promise<boolean> {
    return this.#mutex.runExclusive(async () => {
      const isStaged = await this.#store.jobs.stage(job, result);
      if (isStaged) this.#history = cover(this.#history, await this.#store.coverage(this.#owner.channel));
      return isStaged;
    });
  }

  /**
   * Commits what was written ahead, in one transaction and without a model, then swaps the head of the history.
   * @returns what has landed; empty: nothing was there any more
   */
  async commitAhead(): Promise<Landed[]> {
    return this.#mutex.runExclusive(async () => {
      if (this.#history.ahead.length === 0) return [];
      const landed = await this.#store.jobs.commitAhead(this.#owner);
      this.#history = cover(this.#history, await this.#store.coverage(this.#owner.channel));
      return landed;
    });
  }

  /**
   * Covers everything without a text, up to the first due message after `askedAt`: that one wants an answer.
   * @returns the turn that was ended by it, if any
   */
  async reset(askedAt: Seq): Promise<ResetTurn | null> {
    return this.#mutex.runExclusive(async () => {
      const { channel, epoch } = this.#owner;
      const next = dueMessages(this.#history).find(({ seq }) => seq > askedAt);
      const toSeq = next === undefined ? this.#history.lastSeq : next.seq - 1;
      const ended = await this.#store.channels.reset(channel, epoch, toSeq);
      await this.#fold();
      return ended;
    });
  }

  /** Folds the rows again after a text was deleted, or edited before a turn had read it. */
  async reload(): Promise<ChannelSnapshot> {
    return this.#mutex.runExclusive(async () => this.#fold());
  }

  /** The caller holds the mutex. */
  async #fold(): Promise<ChannelSnapshot> {
    const doubts = this.#doubts;
    const snapshot = await this.#store.load(this.#owner.channel);
    this.#history = snapshot.history;
    this.#takenBack = snapshot.takenBack;
    this.#noted = 0;
    this.#lastDeletion = snapshot.lastDeletion;
    this.#folds++;
    this.#settledDoubts = doubts;
    return snapshot;
  }

  /** Something has gone in another channel: it is looked up whether it was shown here before the next turn begins. */
  doubt(): void {
    this.#doubts++;
  }

  /** How often a text was edited or taken back, as far as is known here. */
  get knownChanges(): number {
    return this.#takenBack + this.#noted;
  }

  /** Whether a text was taken back, or edited without a notice, by whichever daemon, of which nobody has told this one. */
  async hasUnknownChange(): Promise<boolean> {
    return (await this.#store.memories.takenBack(this.#owner.channel)) !== this.knownChanges;
  }

  /** Whether a text was edited or taken back, by whichever daemon, since the rows were folded last. */
  async isOutdated(): Promise<boolean> {
    return (await this.#store.memories.takenBack(this.#owner.channel)) !== this.#takenBack;
  }

  /**
   * Folds the rows again if something may be gone of which nobody tells this channel: what its tool calls were made of, a wish
   * that a thread has of its channel, or a text that another daemon took back. To be asked before a turn begins, or begins again: what
   * it calls from then on tells of nothing that was deleted before.
   */
  async renew(): Promise<void> {
    if (this.#mayTellOthers) {
      const doubts = this.#doubts;
      if ((await this.isOutdated()) || !(await this.hasMemories())) await this.reload();
      else this.#settledDoubts = doubts;
    }
    // Of one that came behind these rows, the turn that begins would know nothing.
    while (!(await this.#knowsDeletions())) await this.reload();
  }

  /** It shows more than what was said here, or somebody else changes that, too. */
  get #mayTellOthers(): boolean {
    if (this.#othersWrite || this.#doubts !== this.#settledDoubts) return true;
    const { entries, wishes } = this.#history;
    return (
      entries.some(({ kind }) => kind === "tool_call") ||
      wishes.some((one) => one.channel !== this.#owner.channel)
    );
  }

  /** Notes that turns know of what is gone by the rows that were folded last; none runs. @returns false: more is gone since then */
  async #knowsDeletions(): Promise<boolean> {
    const last = this.#lastDeletion;
    if (last === null) return true;
    const isAll = await this.#store.log.knowDeletions(this.#owner, last);
    if (isAll && this.#lastDeletion === last) this.#lastDeletion = null;
    return isAll;
  }

  /** Whether nothing has gone that a turn's model may have read here, or was shown of other channels. @param recalled as below */
  async hasAll(
    { id, agent }: Pick<TurnRange, "id" | "agent">,
    recalled: readonly MemoryId[],
  ): Promise<boolean> {
    const isShown = await this.hasMemories(recalled, agent);
    return isShown && this.#store.log.knowsDeletions(this.#owner.channel, id);
  }

  /**
   * Whether all memories that tool results here tell may still show. One may show no more also where nothing was taken back: its
   * channel has become private.
   * @param recalled others that a turn was shown
   * @param agent whose turn that is; default: the channel's own agent's
   */
  async hasMemories(recalled: readonly MemoryId[] = [], agent?: AgentId): Promise<boolean> {
    const shown = new Map<AgentId | undefined, MemoryId[]>([[agent, [...recalled]]]);
    for (const entry of this.#history.entries) {
      if (entry.kind !== "tool_result") continue;
      const told = entry.memories.filter(({ memory }) => memory !== null).map(({ id }) => id);
      if (told.length > 0) shown.set(entry.agent, [...(shown.get(entry.agent) ?? []), ...told]);
    }
    for (const [by, ids] of shown) {
      if (ids.length === 0) continue;
      // Each agent may see what its own scope allows.
      const left = await this.#store.past.statements(this.#owner.channel, ids, by);
      if (!ids.every((id) => left.has(id))) return false;
    }
    return true;
  }

  /** The caller holds the mutex. */
  async #take(entries: readonly Entry[]): Promise<void> {
    const fresh = entries.filter(({ seq }) => seq > this.#history.lastSeq);
    const first = fresh[0];
    if (first === undefined) return;
    await this.#readTo(first.seq - 1);
    await this.#append(fresh);
  }

  /** The caller holds the mutex. */
  async #readTo(toSeq: Seq): Promise<void> {
    const { lastSeq } = this.#history;
    if (toSeq <= lastSeq) return;
    await this.#append(await this.#store.log.read(this.#owner.channel, lastSeq + 1, toSeq));
  }

  /** Renders quotations in tool results as their texts read now, as the fold of the rows does. The caller holds the mutex. */
  async #append(entries: readonly Entry[]): Promise<void> {
    this.#noted += entries.filter(notesEdit).length;
    const longer = appendEntries(this.#history, entries);
    const outdated = [
      ...staleReferences(longer.entries, this.#history.lastSeq + 1),
      ...(await this.#expiredReferences(entries)),
    ];
    if (outdated.length === 0) {
      this.#history = longer;
      return;
    }
    const read = await this.#store.log.readAt(this.#owner.channel, outdated);
    const anew = new Map(read.map((entry) => [entry.seq, entry]));
    this.#history = { ...longer, entries: longer.entries.map((entry) => anew.get(entry.seq) ?? entry) };
  }

  /**
   * Finds new tool results whose quotations may show a text that is no longer kept: it may have gone after the tool had read it, and
   * before the result was in the log, for which it would have waited. The caller holds the mutex.
   * @returns their seqs
   */
  async #expiredReferences(entries: readonly Entry[]): Promise<Seq[]> {
    const { coveredTo } = this.#history;
    // Nothing goes before a summary covers it.
    const quotedIn = (entry: Entry): Seq[] =>
      entry.kind === "tool_result"
        ? entry.references.map(({ seq }) => seq).filter((seq) => seq <= coveredTo)
        : [];
    const quoted = entries.flatMap(quotedIn);
    if (quoted.length === 0) return [];
    const { channel } = this.#owner;
    const hasExpired = await this.#store.log.hasExpired(channel, Math.min(...quoted), Math.max(...quoted));
    return hasExpired ? entries.filter((entry) => quotedIn(entry).length > 0).map(({ seq }) => seq) : [];
  }
}

/**
 * Finds tool results whose quotations may show a text from before an edit. Looks only at new results and new edit notes; the
 * others were looked at when they were new. Pure.
 * @param entries by seq
 * @param from the first new one
 * @returns their seqs
 */
function staleReferences(entries: readonly Entry[], from: Seq): Seq[] {
  const isNew = ({ seq }: Entry): boolean => seq >= from;
  // The common case: an ordinary message.
  if (!entries.slice(entries.findLastIndex((entry) => !isNew(entry)) + 1).some(mayOutdate)) return [];
  const notes = new Map<Seq, Entry>();
  for (const entry of entries) {
    if (entry.kind === "notice" && entry.edits !== null) notes.set(entry.edits.seq, entry);
  }
  return entries.flatMap((entry) => {
    if (entry.kind !== "tool_result") return [];
    const isOutdated = entry.references.some(({ seq }) => {
      const note = notes.get(seq);
      return note !== undefined && note.seq > entry.after && (isNew(note) || isNew(entry));
    });
    return isOutdated ? [entry.seq] : [];
  });
}

function mayOutdate(entry: Entry): boolean {
  if (entry.kind === "tool_result") return entry.references.length > 0;
  return notesEdit(entry);
}

function notesEdit(entry: Entry): boolean {
  return entry.kind === "notice" && entry.edits !== null;
}
