import * as fc from "fast-check";
import type { Entry, EntryReference, TurnEntryDraft } from "../../src/core/entry.ts";
import {
  appendEntries,
  cover,
  dueMessages,
  type History,
  legalCuts,
  settle,
  type TurnRange,
} from "../../src/core/history.ts";
import { hasBegunWork } from "../../src/channel/turns/steering.ts";
import { turnId } from "../../src/core/ids.ts";
import { estimateTokens } from "../../src/text/tokens.ts";
import { anyCharacter } from "../support/any-character.ts";
import { NOTHING_LEARNED } from "../../src/core/learned.ts";

/** Something that happens in a channel. */
export type Step =
  | { readonly do: "say"; readonly text: string; readonly addressed: boolean; readonly author: number }
  /** Somebody edits what a model has read. */
  | { readonly do: "edit"; readonly text: string }
  | { readonly do: "begin" }
  /** The running turn calls tools; `meanwhile`: somebody speaks between the calls and their results. */
  | {
      readonly do: "call";
      readonly calls: readonly string[];
      readonly result: string;
      readonly meanwhile: boolean;
    }
  /** The running turn takes in what is due, behind its results. */
  | { readonly do: "steer" }
  | { readonly do: "settle"; readonly how: "answer" | "skip" | "fail"; readonly text: string }
  /** What is older than about this share of the view leaves it, and nothing stands for it. */
  | { readonly do: "cut"; readonly share: number };

/** What a turn saw when it asked its model. */
export interface Seen {
  readonly history: History;
  readonly turn: TurnRange;
}

const EMPTY: History = {
  summaries: [],
  coveredTo: 0,
  omittedTo: 0,
  settledTo: 0,
  lastSeq: 0,
  omission: null,
  ahead: [],
  learned: NOTHING_LEARNED,
  entries: [],
};
const NAMES = ["Ann", "Ben", "千早", "Zoë 🎈"];
const LINE_TOKENS = 20;
const START = Date.UTC(2026, 10, 21, 14, 5);

/** A channel without a database: what is appended, settled and seen, in order. */
export class Conversation {
  history: History;
  turn: TurnRange | null = null;
  readonly seen: Seen[] = [];
  /** Picks what a turn answers; default: all that is due. */
  readonly #choose: (history: History) => { fromSeq: number; toSeq: number } | null;
  #turns = 0;

  constructor(choose = chooseAll, history = EMPTY) {
    this.#choose = choose;
    this.history = history;
  }

  run(steps: readonly Step[]): this {
    for (const step of steps) this.#take(step);
    return this;
  }

  say(text: string, { addressed = false, author = 0 } = {}): void {
    const name = NAMES[author % NAMES.length] ?? "Ann";
    const tokens = estimateTokens(text) + estimateTokens(name) + LINE_TOKENS;
    const messageId = `m${this.history.lastSeq + 1}`;
    const from = { id: name, name, isBot: false };
    this.#append({
      ...this.#base(tokens),
      kind: "user",
      author: from,
      text,
      messageId,
      replyTo: null,
      addressed,
    });
  }

  /** Begins a turn where something is due and none runs. */
  begin(): void {
    const range = this.turn === null ? this.#choose(this.history) : null;
    if (range === null) return;
    this.turn = { id: turnId(++this.#turns), ...range };
    this.#look();
  }

  call(args: readonly string[], result: string, meanwhile = false): void {
    if (this.turn === null || args.length === 0) return;
    const ids = args.map((_, index) => `call-${index}`);
    const calls = ids.map((id, index) => ({ id, name: "search_history", arguments: args[index] ?? "{}" }));
    this.#write({ kind: "tool_call", text: "", calls });
    if (meanwhile) this.say("meanwhile", { addressed: true, author: 2 });
    const references: EntryReference[] = [{ seq: 1, at: new Date(START), author: "Ann", text: result }];
    for (const callId of ids) {
      this.#write({
        kind: "tool_result",
        callId,
        tool: "search_history",
        // A tool's own text has any length; what it quotes of the log is cut short where it is shown.
        text: result,
        references,
        memories: [],
      });
      if (meanwhile) this.say("and again");
    }
    this.#look();
  }

  steer(): void {
    const { turn, history } = this;
    if (turn === null || !hasBegunWork(history, turn)) return;
    const toSeq = dueMessages(history).at(-1)?.seq ?? 0;
    if (toSeq <= turn.toSeq) return;
    this.turn = { ...turn, toSeq };
    this.#look();
  }

  settle(how: "answer" | "skip" | "fail", text: string): void {
    if (this.turn === null) return;
    if (how === "answer") this.#write({ kind: "assistant", text, stopped: false });
    if (how === "fail") this.#write({ kind: "notice", text: "Sorry." });
    this.history = settle(this.history, this.turn.toSeq);
    this.turn = null;
  }

  /** Takes the settled entries up to this one out of the view, as a `/reset` does. */
  cut(toSeq: number): void {
    const { entries, settledTo, coveredTo } = this.history;
    const last = Math.min(toSeq, settledTo, (this.turn?.fromSeq ?? Infinity) - 1);
    const cuts = [...legalCuts(entries)].filter((seq) => seq <= last && seq > coveredTo);
    const to = Math.max(coveredTo, ...cuts);
    this.history = cover(this.history, { ...this.history, coveredTo: to });
  }

  #take(step: Step): void {
    if (step.do === "say") this.say(step.text, step);
    if (step.do === "edit") this.#edit(step.text);
    if (step.do === "begin") this.begin();
    if (step.do === "call") this.call(step.calls, step.result, step.meanwhile);
    if (step.do === "steer") this.steer();
    if (step.do === "settle") this.settle(step.how, step.text);
    if (step.do === "cut") this.cut(Math.floor(this.history.lastSeq * step.share));
  }

  #edit(text: string): void {
    const { lastSeq } = this.history;
    if (lastSeq === 0) return;
    const edits = { seq: 1, author: "Ann", at: new Date(START) };
    this.#append({ ...this.#base(estimateTokens(text) + 40), kind: "notice", text, after: null, edits });
  }

  #look(): void {
    if (this.turn !== null) this.seen.push({ history: this.history, turn: this.turn });
  }

  #write(draft: TurnEntryDraft): void {
    if (this.turn === null) return;
    const base = { ...this.#base(estimateTokens(JSON.stringify(draft))), after: this.turn.toSeq };
    if (draft.kind === "notice") this.#append({ ...base, ...draft, edits: null });
    else if (draft.kind === "tool_result")
      this.#append({ ...base, ...draft, images: draft.images?.length ?? 0, turnId: this.turn.id });
    else this.#append({ ...base, ...draft, turnId: this.turn.id });
  }

  #base(tokens: number): { seq: number; at: Date; deleted: boolean; tokens: number } {
    const seq = this.history.lastSeq + 1;
    return { seq, at: new Date(START + seq * 60_000), deleted: false, tokens };
  }

  #append(entry: Entry): void {
    this.history = appendEntries(this.history, [entry]);
  }
}

function chooseAll(history: History): { fromSeq: number; toSeq: number } | null {
  const due = dueMessages(history);
  const first = due[0];
  return first === undefined ? null : { fromSeq: first.seq, toSeq: due.at(-1)?.seq ?? first.seq };
}

/** Texts of all kinds and sizes; the longest has as many characters as asked. */
export function anyText(longest: number): fc.Arbitrary<string> {
  const grown = (unit: string) =>
    fc
      .integer({ min: 1, max: Math.max(1, Math.floor(longest / unit.length)) })
      .map((times) => unit.repeat(times));
  return fc.oneof(
    { weight: 4, arbitrary: fc.string({ maxLength: 60 }) },
    { weight: 1, arbitrary: fc.string({ unit: anyCharacter, maxLength: 60 }) },
    {
      weight: 1,
      arbitrary: fc.constantFrom("word ", "会議は水曜日", "👩‍👩‍👧‍👦 ", "x", '{"a":"\\"1\\""},', "\n").chain(grown),
    },
  );
}

/** Steps of a channel in any order; those that do not fit are passed over. */
export function anySteps(options: {
  maxLength: number;
  longest: number;
  /** Default: everything stays in the view. */
  isCut?: boolean;
}): fc.Arbitrary<Step[]> {
  const text = anyText(options.longest);
  const say = fc.record({
    do: fc.constant("say" as const),
    text,
    addressed: fc.boolean(),
    author: fc.nat({ max: 3 }),
  });
  const call = fc.record({
    do: fc.constant("call" as const),
    calls: fc.array(fc.oneof(fc.constant('{"query":"x"}'), text), { minLength: 1, maxLength: 4 }),
    result: text,
    meanwhile: fc.boolean(),
  });
  const end = fc.record({
    do: fc.constant("settle" as const),
    how: fc.constantFrom("answer" as const, "answer" as const, "skip" as const, "fail" as const),
    text,
  });
  const cut = fc.record({
    do: fc.constant("cut" as const),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
  });
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 5, arbitrary: say },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("edit" as const), text }) },
    { weight: 3, arbitrary: fc.constant({ do: "begin" as const }) },
    { weight: 3, arbitrary: call },
    { weight: 1, arbitrary: fc.constant({ do: "steer" as const }) },
    { weight: 3, arbitrary: end },
    ...(options.isCut === true ? [{ weight: 1, arbitrary: cut }] : []),
  );
  return fc.array(step, { maxLength: options.maxLength, size: "max" });
}
