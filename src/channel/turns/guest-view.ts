import { keepTokens, lastCoverable } from "../../context/keep.ts";
import { SUMMARY_LABEL_TOKENS } from "../../context/render.ts";
import { type Budget, partAt } from "../../context/usage.ts";
import { SUMMARIES_SHARE } from "../../core/compaction.ts";
import type { Entry } from "../../core/entry.ts";
import {
  answeredMessages,
  type History,
  isCounted,
  joinSpans,
  legalCuts,
  omit,
  rawFrom,
  type Summary,
  type TurnRange,
} from "../../core/history.ts";
import type { Seq } from "../../core/ids.ts";
import { type Agent, budgetOf } from "../../turn/agent.ts";
import type { ActorParts } from "../channel-context.ts";
import type { GuardedHistory } from "../guarded-history.ts";

/** Longest brief of entries without a summary: in estimated tokens, and as a share of the usable window. */
const BRIEF_TOKENS = 2000;
const BRIEF_SHARE = 0.1;
/** Newest messages that a guest reads word for word, if its window has room. */
const NEWEST = 8;
/**
 * A brief is rewritten once the entries after it exceed its length by this factor. Until then a guest's prompt only
 * grows.
 */
const MOST_BEHIND = 4;
/** Newest omitted entries that a brief reads. */
const MOST_OMITTED = 300;

export interface GuestViewParts extends Pick<ActorParts, "store" | "agent"> {
  readonly owner: Pick<ActorParts["owner"], "channel">;
  readonly compactorAgent: Pick<ActorParts["compactorAgent"], "digester">;
}

/** A guest's brief of a channel, kept for its next turn there. */
export interface KeptBrief {
  /** The summaries at the time: a commit or a deletion makes a new list. */
  readonly of: History["summaries"];
  /** The last entry that it covers. */
  readonly cut: Seq;
  readonly summaries: readonly Summary[];
}

type Source = Pick<GuardedHistory, "snapshot" | "current">;

/** What its extracts have in common with a digest of the log. */
const EXTRACT = { level: 0, kind: "digest", needsRedo: false } as const;

/**
 * A channel as a guest reads it: the channel's summaries, a brief of the entries without a summary, written for the
 * question, and the newest messages word for word. It is a history like any other, and fits the guest's window,
 * whatever the size of the window of the channel's agent. It is not stored, and leaves the channel's own view as it is.
 *
 * A brief is kept for the guest's next turns until many entries follow it, so that their requests share a prefix. Each
 * new list of summaries, and so each deletion, requires a new brief.
 */
export class GuestView {
  readonly #parts: GuestViewParts;
  readonly #source: Source;
  readonly #turn: TurnRange;
  #kept: KeptBrief | null;
  #omittedTo: Seq = 0;

  /** @param kept the brief of the guest's turn before; null: there is none */
  constructor(parts: GuestViewParts, source: Source, turn: TurnRange, kept: KeptBrief | null) {
    this.#parts = parts;
    this.#source = source;
    this.#turn = turn;
    this.#kept = kept;
  }

  get kept(): KeptBrief | null {
    return this.#kept;
  }

  /** As of the last snapshot. */
  get current(): History {
    return this.#seen(this.#source.current);
  }

  async snapshot(): Promise<History> {
    const history = await this.#source.snapshot();
    if (!this.#holds(history)) this.#kept = await this.#brief(history);
    return this.#seen(history);
  }

  /** Omits entries from this turn's requests only. */
  omit(toSeq: Seq): void {
    this.#omittedTo = Math.max(this.#omittedTo, toSeq);
  }

  #seen(history: History): History {
    const kept = this.#kept;
    if (kept === null || kept.of !== history.summaries) return history;
    const view: History = {
      ...history,
      summaries: kept.summaries,
      coveredTo: kept.cut,
      omission: null,
      ahead: [],
      entries: history.entries.filter(({ seq }) => seq > kept.cut),
    };
    return this.#omittedTo > kept.cut ? omit(view, this.#omittedTo) : view;
  }

  #holds(history: History): boolean {
    const kept = this.#kept;
    if (kept?.of !== history.summaries || kept.cut < rawFrom(history) - 1) return false;
    const { agent } = this.#parts;
    const limit = keepTokens(budgetOf(agent, agent.config.model)) * MOST_BEHIND;
    const behind = history.entries.filter(({ seq }) => seq > kept.cut && seq < this.#turn.fromSeq);
    const tokens = behind.reduce((sum, entry) => sum + entry.tokens, 0);
    return tokens <= limit && behind.filter(isCounted).length <= NEWEST * MOST_BEHIND;
  }

  async #brief(history: History): Promise<KeptBrief> {
    const { agent } = this.#parts;
    const budget = budgetOf(agent, await agent.models.resolve(agent.config.model));
    const cut = cutOf(agent, history, this.#turn, budget);
    const live = await this.#fitting(history, budget);
    const brief = await this.#digest(history, cut, budget);
    return { of: history.summaries, cut, summaries: brief === null ? live : [...live, brief] };
  }

  /** The live summaries, or an extract of them that fits the guest's window. */
  async #fitting({ summaries, coveredTo }: History, budget: Budget): Promise<readonly Summary[]> {
    const told = summaries.filter(({ kind }) => kind !== "reset");
    const room = Math.floor(partAt(budget, SUMMARIES_SHARE.most));
    const [first] = told;
    if (first === undefined) return [];
    if (told.reduce((sum, { tokens }) => sum + tokens + SUMMARY_LABEL_TOKENS, 0) <= room) return told;
    const { text, tokens } = await this.#parts.compactorAgent.digester.ofTexts(
      told.map((summary) => summary.text),
      Math.max(0, room - SUMMARY_LABEL_TOKENS),
    );
    const span = joinSpans(told.map((summary) => summary.span));
    return [{ ...EXTRACT, fromSeq: first.fromSeq, toSeq: coveredTo, span, text, tokens }];
  }

  /** Null: no entry lies between the summaries and the newest messages. */
  async #digest(history: History, cut: Seq, budget: Budget): Promise<Summary | null> {
    const fromSeq = history.coveredTo + 1;
    if (cut < fromSeq) return null;
    const { store, owner, compactorAgent } = this.#parts;
    const entries =
      history.omission === null
        ? history.entries.filter(({ seq }) => seq <= cut)
        : await store.log.readCurrent(owner.channel, Math.max(fromSeq, cut - MOST_OMITTED + 1), cut);
    const counted = entries.filter((entry) => isCounted(entry) && !entry.deleted);
    const [first] = counted;
    const last = counted.at(-1);
    if (first === undefined || last === undefined) return null;
    const most = Math.min(BRIEF_TOKENS, Math.floor(partAt(budget, BRIEF_SHARE)));
    const question = answeredMessages(history, this.#turn)
      .map((message) => message.text)
      .join("\n");
    const { text, tokens } = await compactorAgent.digester.ofEntries(entries, most, question);
    const span = { messages: counted.length, firstAt: first.at, lastAt: last.at };
    return { ...EXTRACT, fromSeq, toSeq: cut, span, text, tokens };
  }
}

/** The last entry that a brief covers. Pure. */
function cutOf(agent: Agent, history: History, turn: TurnRange, budget: Budget): Seq {
  const { entries } = history;
  const last = lastCoverable(entries, {
    firstKept: turn.fromSeq,
    keepMessages: NEWEST,
    maxTokens: keepTokens(budget),
    tokensOf: agent.renderer.stubTokens(entries),
  });
  const cuts = legalCuts(entries);
  const legal = entries.findLast((entry: Entry) => entry.seq <= last && cuts.has(entry.seq));
  return Math.max(rawFrom(history) - 1, legal?.seq ?? 0);
}
