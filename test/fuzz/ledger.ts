import type { InboundMessage } from "../../src/core/message.ts";
import type { Chat } from "./chat.ts";
import type { Deeds } from "./deeds.ts";
import type { Incarnation } from "./incarnation.ts";
import type { EntryRow, TurnRow } from "./observe.ts";
import type { SubagentRow } from "./subagent-rows.ts";
import type { Profile } from "./profile.ts";
import type { Prompt } from "./prompt.ts";
import type { Reply } from "./schedule.ts";

/** Something that somebody said, and what became of it. */
export interface SaidMessage {
  readonly message: InboundMessage;
  readonly marker: string;
  readonly reply: Reply | null;
  /** Its own, and those of its edits. */
  readonly markers: string[];
  seq: number | null;
}

/** Counts by which a prompt's prefix may change: where two are equal, nothing has happened that excuses a change. */
export interface Versions {
  readonly summaries: number;
  readonly coveredTo: number;
  readonly omittedTo: number;
  readonly deletions: number;
  /** The summaries that something was taken out of which cannot be written again: an edit does that, too. */
  readonly takenOut: string;
  /** Of now, and of the two steps before: a prompt may be put together in one, and arrive in the next. */
  readonly days: readonly string[];
}

export interface SeenPrompt {
  readonly prompt: Prompt;
  /** The turn that ran then. */
  readonly turn: number | null;
  readonly order: number;
  /** As of the last look before it was put together, and as of its arrival. */
  readonly before: Versions;
  readonly at: Versions;
  /** Markers of the edits that were under way when it arrived. */
  readonly editing: ReadonlySet<string>;
  /** How many edits had been handed in. */
  readonly edits: number;
}

/** What a job's requests have shown its models. */
export interface ShownToJob {
  /** Of messages in its transcripts. */
  readonly markers: Set<string>;
  /** Of summaries that were shown whole, to be made into one or to be written again. */
  readonly ranges: { readonly from: number; readonly to: number }[];
}

export interface Violation {
  readonly invariant: string;
  readonly what: string;
}

const LONGEST_TRAIL = 40;
/** Of one invariant: so what one breaks often hides no other. */
const MOST_VIOLATIONS = 20;

/** What a run has found, and what happened before. */
export class Findings {
  readonly violations: Violation[] = [];
  /** What happened last, for whoever has to find out why. */
  readonly trail: string[] = [];

  onNote: (what: string) => void = () => undefined;

  note(what: string): void {
    this.onNote(what);
    // A compactor that looks again and again would push out what led to it.
    if (what === this.trail.at(-1)) return;
    this.trail.push(what);
    if (this.trail.length > LONGEST_TRAIL) this.trail.shift();
  }

  violate(invariant: string, what: string): void {
    const known = this.violations.filter((one) => one.invariant === invariant);
    if (known.length < MOST_VIOLATIONS) this.violations.push({ invariant, what });
  }
}

/** What the run knows of one channel from outside of Weir: what was said, asked, deleted and seen. */
export class Ledger {
  readonly said: SaidMessage[] = [];
  /** All markers of it, those of edits too. */
  readonly own = new Set<string>();
  readonly byMarker = new Map<string, SaidMessage>();
  isPrivate = false;
  /** Markers of what was said while the channel was private, or before. */
  readonly hidden = new Set<string>();
  readonly byMessageId = new Map<string, SaidMessage>();
  readonly entries = new Map<number, EntryRow>();
  /** The bot's answers, by how they begin. */
  readonly answers = new Map<string, EntryRow>();
  /** Markers of edits that were handed in, and are not acknowledged. */
  readonly editing = new Set<string>();
  /** Markers that an edit took whose acknowledgement has come, and the last job that had begun by then. */
  readonly editedAway = new Map<string, number>();
  /** … by the beginning of the last look. */
  editedAwayBefore: ReadonlySet<string> = new Set();
  /** Markers of messages whose deletion has begun, and whose deletion was acknowledged. */
  readonly leaving = new Set<string>();
  readonly gone = new Set<string>();
  /** … by the end of the step before. */
  goneBefore: ReadonlySet<string> = new Set();
  deletions = 0;
  /** Edits that were handed in. */
  edits = 0;
  readonly #calls = new WeakMap<Incarnation, Map<string, number>>();
  readonly #shownToJob = new Map<number, ShownToJob>();
  /** Jobs whose result was staged: their model's work is done. */
  readonly staged = new Set<number>();
  /** What the summariser answered to a text, by that text. */
  readonly answeredTo = new Map<string, string>();
  readonly refusals = new Map<number, number>();
  /** Markers of messages that a turn has asked the model about. */
  readonly asked = new Set<string>();
  /** All that the run has had. */
  readonly profiles: ReadonlySet<Profile>;
  readonly findings: Findings;
  /** The channel's. */
  readonly name: string;
  /** Of the channel of which it is a thread: what is remembered and noted there is shown here as well. */
  readonly parent: Ledger | null;
  readonly chat: Chat;
  readonly deeds: Deeds;
  /** Real tokens per estimated one. */
  readonly ratio: number;
  /** Those that were told in this channel what their model counts. */
  readonly counted = new WeakSet<Incarnation>();
  /** By the name of the agent whose they are. */
  readonly lastPrompts = new Map<string, SeenPrompt>();
  /** Prompts that have arrived. */
  arrived = 0;
  /** Entries that memories cite, or have cited. */
  readonly cited = new Set<number>();
  /** Markers of messages that a memory tells of which another one bears, too, and that calls of tools have repeated. */
  readonly told = new Set<string>();
  /** Entries whose texts are no longer kept. */
  expired: ReadonlySet<number> = new Set();
  /** Markers of edits that calls of tools have repeated. */
  readonly called = new Set<string>();
  lastSummary = 0;
  lastTurn = 0;
  readonly turns = new Map<number, TurnRow>();
  /** By id, as they were when they were seen first. */
  readonly subagents = new Map<number, SubagentRow>();
  /** By turn and task, the subagent that works on it. */
  readonly begun = new Map<string, number>();
  /** Approvals whose calls stand in the log. */
  readonly madeCalls = new Set<number>();
  /** By the number of a subagent, the entries that tell how it ended. */
  readonly tellings = new Map<number, Set<number>>();
  /** By reminder, when its told occurrences were due, ms since the epoch. */
  readonly reminded = new Map<number, Set<number>>();
  lastMemory = 0;
  /** Sources of memories that were seen, and up to which transaction all were. */
  readonly proofs = new Set<string>();
  snapshot = 0;

  constructor(
    name: string,
    parent: Ledger | null,
    findings: Findings,
    profiles: ReadonlySet<Profile>,
    outside: { readonly chat: Chat; readonly deeds: Deeds },
    ratio: number,
  ) {
    this.name = name;
    this.parent = parent;
    this.findings = findings;
    this.profiles = profiles;
    this.chat = outside.chat;
    this.deeds = outside.deeds;
    this.ratio = ratio;
  }

  add(said: SaidMessage): void {
    this.said.push(said);
    this.own.add(said.marker);
    if (this.isPrivate) this.hidden.add(said.marker);
    this.byMarker.set(said.marker, said);
    this.byMessageId.set(said.message.id, said);
  }

  /** It was said here, or where this is a thread. */
  mayShow(marker: string): boolean {
    return this.own.has(marker) || this.parent?.own.has(marker) === true;
  }

  /** What may be shown here, and whose deletion was acknowledged. */
  get goneHere(): Set<string> {
    return this.gone.union(this.parent?.gone ?? new Set());
  }

  violate(invariant: string, what: string): void {
    this.findings.violate(invariant, `${this.name}: ${what}`);
  }

  /** Counts a call of this attempt. @returns how many there were by now */
  callIn(
    incarnation: Incarnation,
    { id, attempt }: { readonly id: number; readonly attempt: number },
  ): number {
    const counts = this.#calls.get(incarnation) ?? new Map<string, number>();
    this.#calls.set(incarnation, counts);
    const key = `${id}/${attempt}`;
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    return count;
  }

  shownTo(job: number): ShownToJob {
    const shown = this.#shownToJob.get(job) ?? { markers: new Set(), ranges: [] };
    this.#shownToJob.set(job, shown);
    return shown;
  }

  /** Messages of from..to that nobody has begun to delete. */
  messagesIn(from: number, to: number): SaidMessage[] {
    const found: SaidMessage[] = [];
    for (let seq = from; seq <= to; seq++) {
      const id = this.entries.get(seq)?.message_id;
      const said = id == null ? undefined : this.byMessageId.get(id);
      if (said !== undefined && !this.leaving.has(said.marker)) found.push(said);
    }
    return found;
  }
}
