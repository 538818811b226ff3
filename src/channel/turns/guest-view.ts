import { keepTokens, lastCoverable } from "../../context/keep.ts";
import { SUMMARY_LABEL_TOKENS } from "../../context/render.ts";
import { type Budget, partAt, summaryRoom } from "../../context/usage.ts";
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

/** Longest brief of what no summary covers, estimated tokens; and its longest share of the usable window. */
const BRIEF_TOKENS = 2000;
const BRIEF_SHARE = 0.1;
/** Newest messages that a guest reads word for word, as far as they may be kept of its window. */
const NEWEST = 8;
/** Factor by which entries after a brief may exceed it before it is written again: until then a guest's prompt only grows. */
const MOST_BEHIND = 4;
/** Omitted entries that a brief is made of, the newest. */
const MOST_OMITTED = 300;

export interface GuestViewParts extends Pick<ActorParts, "store" | "agent"> {
  readonly owner: Pick<ActorParts["owner"], "channel">;
  readonly compactorAgent: Pick<ActorParts["compactorAgent"], "digester">;
}

/** A guest's brief of a channel, for its next turn there. */
export interface KeptBrief {
  /** Of the channel's history: another list tells of a commit, or of a text that was taken back. */
  readonly of: History["summaries"];
  /** The last entry that it covers. */
  readonly cut: Seq;
  readonly summaries: readonly Summary[];
}

/**
 * A channel as another agent than its own reads it: what the channel's summaries say, a brief of what no summary covers yet, with
 * the question in view, and the newest messages as they are. It is a history like any other, and fits the guest's window
 * whatever the channel's agent has room for. Nothing of it is written: the channel's own view stays as it is.
 *
 * A brief is kept for the guest's next turns until many entries follow it, so that their requests share a prefix. Each new list of
 * summaries, and so each deletion, requires a new brief.
 */
export class GuestView {
  readonly #parts: GuestViewParts;
  readonly #source: { snapshot(): Promise<History>; readonly current: History };
  readonly #turn: TurnRange;
  #kept: KeptBrief | null;
  #omittedTo: Seq = 0;

  /** @param kept of the guest's turn before; null: none is */
  constructor(
    parts: GuestViewParts,
    source: { snapshot(): Promise<History>; readonly current: History },
    turn: TurnRange,
    kept: KeptBrief | null,
  ) {
    this.#parts = parts;
    this.#source = source;
    this.#turn = turn;
    this.#kept = kept;
  }

  /** What the next turn of the same guest may go on with. */
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

  /** Leaves entries out of this turn's requests, and of nothing else. */
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

  /** The live summaries, as they are, or where the guest's window has no room for them, what matters most of them. */
  async #fitting({ summaries, coveredTo }: History, budget: Budget): Promise<readonly Summary[]> {
    const told = summaries.filter(({ kind }) => kind !== "reset");
    const room = Math.floor(summaryRoom(budget));
    const [first] = told;
    if (first === undefined) return [];
    if (told.reduce((sum, { tokens }) => sum + tokens + SUMMARY_LABEL_TOKENS, 0) <= room) return told;
    const { text, tokens } = await this.#parts.compactorAgent.digester.ofTexts(
      told.map((summary) => summary.text),
      Math.max(0, room - SUMMARY_LABEL_TOKENS),
    );
    const span = joinSpans(told.map((summary) => summary.span));
    return [
      {
        fromSeq: first.fromSeq,
        toSeq: coveredTo,
        span,
        level: 0,
        kind: "digest",
        text,
        tokens,
        needsRedo: false,
      },
    ];
  }

  /** Null: nothing is between the summaries and the newest messages. */
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
    return { fromSeq, toSeq: cut, span, level: 0, kind: "digest", text, tokens, needsRedo: false };
  }
}

/** Up to where a brief stands for entries: what is newer is shown as it is. Pure. */
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
