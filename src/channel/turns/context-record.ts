import { createHash } from "node:crypto";
import { sectionLimits } from "../../context/sections/fit.ts";
import { contextSections } from "../../context/sections/list.ts";
import { focusOf } from "../../context/sections/focus.ts";
import { pressureOf, usableTokens, usageOf } from "../../context/usage.ts";
import { realTokens } from "../../core/calibration.ts";
import { type Context, contextCharacters, type ModelMessage } from "../../core/context.ts";
import type { RecalledIds } from "../../core/entry.ts";
import { answeredMessages, type TurnRange } from "../../core/history.ts";
import type { ModelCallRecord } from "../../llm/model.ts";
import type { ContextRecord, RecordedPrefix, SeenByTurn } from "../../store/turns/context-records.ts";
import type { MadeOf } from "../../turn/turn-channel.ts";

/** A sent request, with the token counts that its provider reported. */
export interface SentContext extends MadeOf {
  readonly at: Date;
  readonly model: string;
  readonly context: Context;
  readonly reported: ContextRecord["reported"];
}

/** The last request of the running turn. */
export class LastSent {
  #sent: SentContext | null = null;

  /** Null: no request was sent. */
  get current(): SentContext | null {
    return this.#sent;
  }

  note(at: Date, model: string, context: Context, made: MadeOf): void {
    this.#sent = { at, model, context, ...made, reported: null };
  }

  answered({ outcome, usage }: ModelCallRecord): void {
    if (this.#sent === null || outcome !== "answered" || usage === undefined) return;
    const { promptTokens, cachedTokens, writtenTokens } = usage;
    this.#sent = { ...this.#sent, reported: { promptTokens, cachedTokens, writtenTokens } };
  }
}

/** Share of the usable window that a turn's last request took, without what an omission left out of it. @param sent null: it made none */
export function windowUsedBy(sent: SentContext | null): { readonly windowUsed?: number } {
  if (sent === null) return {};
  const used = realTokens(sent.context.tokens, sent.budget.calibration) / usableTokens(sent.budget);
  return { windowUsed: Number(used.toFixed(3)) };
}

/** Hashes the prefixes of a channel's requests, and compares each with the one before. */
export class PrefixChain {
  #last: Pick<RecordedPrefix, "sha256" | "messages"> | null = null;

  /** Records a request as the last one, and compares it with the one before. */
  next(model: string, { tools, segments }: Context): RecordedPrefix {
    const messages = segments
      .slice(
        0,
        segments.findIndex(({ key }) => key === "dynamic"),
      )
      .flatMap((segment) => segment.messages);
    const last = this.#last;
    const hash = createHash("sha256").update(JSON.stringify([model, tools]));
    const add = (some: readonly ModelMessage[]): string => {
      hash.update(some.map(digestOf).join(""));
      return hash.copy().digest("hex");
    };
    const common = last === null || last.messages > messages.length ? 0 : last.messages;
    const before = add(messages.slice(0, common));
    const sha256 = add(messages.slice(common));
    this.#last = { sha256, messages: messages.length };
    return {
      ...this.#last,
      continues: last === null ? null : common === last.messages && before === last.sha256,
    };
  }
}

/** Digests by message: the turn before has hashed most of a prefix. */
const DIGESTS = new WeakMap<ModelMessage, string>();

function digestOf(message: ModelMessage): string {
  const digest =
    DIGESTS.get(message) ??
    createHash("sha256")
      .update(JSON.stringify(hashed(message)))
      .digest("base64");
  DIGESTS.set(message, digest);
  return digest;
}

/** Counts pictures instead of hashing them, since later requests leave them out. */
function hashed(message: ModelMessage): unknown {
  return message.role === "user" ? { ...message, images: message.images?.length ?? 0 } : message;
}

/** The record of a request, without its texts. Pure. */
function recordOf(
  { at, model, context, history, budget, reported }: SentContext,
  turn: Pick<TurnRange, "id" | "toSeq" | "agent">,
  recalled: RecalledIds,
  prefix: RecordedPrefix,
): ContextRecord {
  const usage = usageOf(context, history, budget);
  const usable = usableTokens(budget);
  const { each, all } = sectionLimits(usable);
  const { omission, entries } = history;
  const [first, last] = [entries[0], entries.at(-1)];
  return {
    turn: turn.id,
    at,
    ...(turn.agent !== undefined && { agent: turn.agent }),
    model,
    window: budget.window,
    usable,
    tokens: context.tokens,
    characters: contextCharacters(context),
    usage,
    pressure: pressureOf(usage, budget),
    reported,
    segments: context.segments.map(({ key, label, tokens, count }) => ({ key, label, tokens, count })),
    sections: contextSections(context).map(({ text, ...section }) => {
      return { ...section, sha256: text === "" ? null : createHash("sha256").update(text).digest("hex") };
    }),
    focus: context.focus ?? focusOf(answeredMessages(history, turn).map(({ text }) => text)),
    budget: { each, all },
    raw:
      first === undefined || last === undefined
        ? null
        : { fromSeq: first.seq, toSeq: last.seq, count: entries.length },
    summaries: history.summaries
      .filter(({ kind }) => kind !== "reset")
      .map(({ fromSeq, toSeq, level, tokens }) => ({ fromSeq, toSeq, level, tokens, compaction: null })),
    recalled,
    omission: omission && {
      fromSeq: omission.fromSeq,
      toSeq: omission.toSeq,
      count: omission.count,
      tokens: omission.tokens,
    },
    prefix,
  };
}

/** A settled turn's last request. */
export interface SettledContext {
  readonly sent: SentContext;
  readonly turn: TurnRange;
  readonly recalled: RecalledIds;
}

/**
 * The record of a settled turn's request, and the entries that its turn may have read. Slow: it hashes the whole
 * request.
 */
export function recordOfTurn(chain: PrefixChain, { sent, turn, recalled }: SettledContext) {
  const seen: SeenByTurn = {
    seenTo: sent.history.lastSeq,
    answered: answeredMessages(sent.history, turn).map(({ seq, text }) => ({ seq, text })),
  };
  return { record: recordOf(sent, turn, recalled, chain.next(sent.model, sent.context)), seen };
}
