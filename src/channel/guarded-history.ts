import { StaleEpochError } from "../store/database/errors.ts";
import { Mutex } from "async-mutex";
import type { CommitOutcome, Job, JobResult, Landed } from "../core/compaction.ts";
import { type Entry, isEditNotice, type TurnEntryDraft } from "../core/entry.ts";
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
import type { WrittenBeside } from "../store/log/log.ts";
import type { SubstituteMaker } from "../store/compaction/jobs.ts";
import type { ChannelSnapshot } from "../store/channels/snapshot.ts";
import type { Store } from "../store/store.ts";
import type { Settled, Settlement } from "../store/turns/turns.ts";
import { outdatedDrafts } from "./outdated-drafts.ts";

/** Serialises the changes of a history, each with its write and its reads. */
export type HistoryMutex = Pick<Mutex, "isLocked" | "runExclusive">;

type Changes = Pick<ChannelSnapshot, "takenBack" | "takenBackHere" | "lastDeletion">;

interface HistoryOptions {
  readonly mutex?: HistoryMutex | undefined;
  readonly othersWrite?: boolean | undefined;
}

/**
 * A channel's history, guarded by a mutex. Every change is in the log before it is in memory, so that memory is never
 * ahead: after any crash, folding the rows again gives the same history.
 */
export class GuardedHistory {
  readonly #store: Store;
  readonly #owner: Owner;
  readonly #mutex: HistoryMutex;
  readonly #othersWrite: boolean;
  #history: History;
  /** Edits and deletions as of the last fold of the rows; `lastDeletion` null: all are marked as known to turns. */
  #folded: Changes;
  /** Edits that were noted since then; the database counts each as a change, too. */
  #noted = 0;
  #folds = 0;
  /** Number of deletions reported from other channels, and how many of them were checked. */
  #doubts = 0;
  #settledDoubts = 0;

  /** @param how.othersWrite other daemons may change the channel's texts; default: true */
  constructor(
    store: Store,
    owner: Owner,
    snapshot: Pick<ChannelSnapshot, "history"> & Changes,
    { mutex = new Mutex(), othersWrite = true }: HistoryOptions = {},
  ) {
    this.#mutex = mutex;
    this.#othersWrite = othersWrite;
    this.#store = store;
    this.#owner = owner;
    this.#history = snapshot.history;
    this.#folded = changesOf(snapshot);
  }

  /** The history once all changes under way are in it. An immutable value: it does not change under its reader. */
  async snapshot(): Promise<History> {
    // Without a change under way there is nothing to wait for.
    return this.#mutex.isLocked() ? this.#mutex.runExclusive(() => this.#history) : this.#history;
  }

  /** The history at this instant, for status reports. */
  get current(): History {
    return this.#history;
  }

  /** Adds an entry that was appended to the log. A known entry is ignored; a gap before it is read from the log. */
  async observe(entry: Entry): Promise<void> {
    await this.#mutex.runExclusive(async () => this.#take([entry]));
  }

  /** Reads entries that the history lacks (a notice of an edit, another writer's message). */
  async catchUp(toSeq: Seq): Promise<void> {
    await this.#mutex.runExclusive(async () => this.#readTo(toSeq));
  }

  /** Notes that the text at `seq` was edited; the notice at `notedSeq` tells the model. */
  async noticeEdit(seq: Seq, notedSeq: Seq): Promise<void> {
    await this.#mutex.runExclusive(async () => {
      await this.#readTo(notedSeq);
      // The edit has marked the summary over it for rewriting, or voided one written ahead, in its row only.
      if (seq <= this.#history.coveredTo || this.#history.ahead.length > 0)
        this.#history = cover(this.#history, await this.#store.coverage(this.#owner.channel));
    });
  }

  /**
   * Appends a turn's entries, and what is written in one transaction with them.
   * @param shown memories in the model's request
   */
  async appendTurnEntries(
    turn: TurnRange,
    drafts: readonly TurnEntryDraft[],
    at: Date,
    beside?: WrittenBeside,
    shown: readonly MemoryId[] = [],
  ): Promise<void> {
    const folds = this.#folds;
    await this.#mutex.runExclusive(async () => {
      const { channel } = this.#owner;
      const outdated = outdatedDrafts(this.#history.entries, drafts);
      const after = { id: turn.id, after: turn.toSeq, agent: turn.agent, shown, outdated };
      const written = await this.#store.log.appendTurnEntries(this.#owner, after, drafts, at, beside);
      const [first, last] = [written[0], written.at(-1)];
      // The rows were folded during the wait, without deleted texts. The log may have kept less of these entries than was given, so
      // they are read back.
      const isLate = folds !== this.#folds && first !== undefined && last !== undefined;
      await this.#take(isLate ? await this.#store.log.read(channel, first.seq, last.seq) : written);
    });
  }

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

  /** Commits a staged job, then swaps the head of the history. Idempotent. @param maker as for {@link JobStore.commit} */
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
   * @returns false: the job has another owner, or a deletion or an edit made the summary stale
   */
  async stageAhead(job: Job, result: JobResult): Promise<boolean> {
    return this.#mutex.runExclusive(async () => {
      const isStaged = await this.#store.jobs.stage(job, result);
      if (isStaged) this.#history = cover(this.#history, await this.#store.coverage(this.#owner.channel));
      return isStaged;
    });
  }

  /**
   * Commits the summaries that were written ahead, in one transaction and without a model, then swaps the head of the history.
   * @returns the committed ones; empty: none was left
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
   * @returns the turn that it ended, if any
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

  /**
   * The caller holds the mutex.
   * @throws StaleEpochError if the channel has a new owner: this one's turn may be settled in those rows
   */
  async #fold(): Promise<ChannelSnapshot> {
    const doubts = this.#doubts;
    const { channel, epoch } = this.#owner;
    const snapshot = await this.#store.load(channel);
    if (snapshot.channel.epoch !== epoch)
      throw new StaleEpochError(`epoch ${epoch} of channel ${channel} is over`);
    this.#history = snapshot.history;
    this.#folded = changesOf(snapshot);
    this.#noted = 0;
    this.#folds++;
    this.#settledDoubts = doubts;
    return snapshot;
  }

  /** Reports a deletion in another channel: the next turn first checks whether the deleted content was shown here. */
  doubt(): void {
    this.#doubts++;
  }

  /** Number of edits and deletions that this history knows. */
  get knownChanges(): number {
    return this.#folded.takenBack + this.#noted;
  }

  /** The same of this channel alone, without a thread's channel. */
  get knownChangesHere(): number {
    return this.#folded.takenBackHere + this.#noted;
  }

  /** Whether there are edits or deletions, by any daemon, that this history does not know. */
  async hasUnknownChange(): Promise<boolean> {
    return (await this.#store.memories.takenBack(this.#owner.channel)) !== this.knownChanges;
  }

  /** Whether a text was edited or deleted, by any daemon, since the last fold. */
  async isOutdated(): Promise<boolean> {
    return (await this.#store.memories.takenBack(this.#owner.channel)) !== this.#folded.takenBack;
  }

  /**
   * Reloads if content from elsewhere may have been deleted without notice: sources of tool calls, what a thread has learned from its
   * channel, or a text that another daemon deleted. Call it before a turn begins or begins again: its calls then contain nothing that
   * was deleted before.
   */
  async renew(): Promise<void> {
    if (this.#mayTellOthers) {
      const doubts = this.#doubts;
      if ((await this.isOutdated()) || !(await this.hasMemories())) await this.reload();
      else this.#settledDoubts = doubts;
    }
    // The beginning turn must know of a deletion that came after the fold.
    while (!(await this.#knowsDeletions())) await this.reload();
  }

  /** Whether the view has content from other channels, or another daemon may change the texts. */
  get #mayTellOthers(): boolean {
    return this.#othersWrite || this.#doubts !== this.#settledDoubts || this.hasWordsOfOthers;
  }

  /** Whether its texts may repeat what was said in other channels. */
  get hasWordsOfOthers(): boolean {
    const { entries, learned } = this.#history;
    return entries.some(({ kind }) => kind === "tool_call") || learned.isSaidElsewhere(this.#owner.channel);
  }

  /** Marks the deletions as of the last fold as known to turns; no turn runs. @returns false: there are later deletions */
  async #knowsDeletions(): Promise<boolean> {
    const last = this.#folded.lastDeletion;
    if (last === null) return true;
    const isAll = await this.#store.log.knowDeletions(this.#owner, last);
    if (isAll && this.#folded.lastDeletion === last) this.#folded = { ...this.#folded, lastDeletion: null };
    return isAll;
  }

  /** Whether no text or memory was deleted that a turn's model may have read. @param recalled see {@link hasMemories} */
  async hasAll(
    { id, agent }: Pick<TurnRange, "id" | "agent">,
    recalled: readonly MemoryId[],
  ): Promise<boolean> {
    const isShown = await this.hasMemories(recalled, agent);
    return isShown && this.#store.log.knowsDeletions(this.#owner.channel, id);
  }

  /**
   * Whether all memories in tool results here may still be shown. A memory may become hidden without a deletion: its channel has
   * become private.
   * @param recalled further memories in a turn's request
   * @param agent of that turn; default: the channel's own agent
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
      // Each agent has its own scope.
      const left = await this.#store.past.statements(this.#owner.channel, ids, by);
      if (!ids.every((id) => left.has(id))) return false;
    }
    return true;
  }

  /** The caller holds the mutex. */
  async #take(entries: readonly Entry[]): Promise<void> {
    const isFresh = ({ seq }: Entry): boolean => seq > this.#history.lastSeq;
    const first = entries.find(isFresh);
    if (first === undefined) return;
    await this.#readTo(first.seq - 1);
    await this.#append(entries.filter(isFresh));
  }

  /** The caller holds the mutex. */
  async #readTo(toSeq: Seq): Promise<void> {
    const { lastSeq } = this.#history;
    if (toSeq <= lastSeq) return;
    const gap = await this.#store.log.read(this.#owner.channel, lastSeq + 1, toSeq);
    // A new owner wrote them, or a commit of ours whose outcome is unknown: a turn here may be settled.
    if (gap.some(isOfTurn)) await this.#fold();
    else await this.#append(gap);
  }

  /** Renders quotations in tool results with their current texts, as the fold of the rows does. The caller holds the mutex. */
  async #append(entries: readonly Entry[]): Promise<void> {
    this.#noted += entries.filter(isEditNotice).length;
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
   * Finds new tool results whose quotations may show a text that has expired: retention may have removed it after the tool read it and
   * before the result was logged. The caller holds the mutex.
   * @returns their seqs
   */
  async #expiredReferences(entries: readonly Entry[]): Promise<Seq[]> {
    const { coveredTo } = this.#history;
    // No text expires before a summary covers it.
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
 * Finds tool results whose quotations may show a text from before an edit. Checks only new results and new edit notices; the others
 * were checked when they were new. Pure.
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
    if (isEditNotice(entry)) notes.set(entry.edits.seq, entry);
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
  return isEditNotice(entry);
}

/** Without the rest of the snapshot, which would hold its history. */
function changesOf({ takenBack, takenBackHere, lastDeletion }: Changes): Changes {
  return { takenBack, takenBackHere, lastDeletion };
}

/** Only the channel's owner writes such entries. */
function isOfTurn(entry: Entry): boolean {
  return entry.kind !== "user" && entry.after !== null;
}
