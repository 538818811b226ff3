import {
  type Model,
  type ModelAnswer,
  type ModelCallOptions,
  ModelError,
  type ModelRequest,
} from "../../src/llm/model.ts";
import type { Incarnation } from "./incarnation.ts";
import { estimateRequest, type Prompt, takeApart } from "./prompt.ts";
import { MODEL, SUMMARISER, UNDERSTUDY } from "./profile.ts";
import type { Reply, SummaryMode } from "./schedule.ts";
import { summarise } from "./summariser.ts";
import { talk } from "./scripted-answers.ts";
import { askedBy } from "./scripted-calls.ts";
import { isOfSubagent, SLOWLY, taskIn, work } from "./scripted-subagent.ts";

/** Real tokens of a guest's request over those of another one that was estimated alike. */
export const GUEST_COUNTS = 0.7;

/** What the record of each call says. */
const ENDED = { receivedTokens: 0, firstTokenMs: 1, totalMs: 1 } as const;

/** Replies that are held until they are released. */
const SLOW: ReadonlySet<Reply> = new Set(["slow", "tools_slow", "act_slow", "noted_slow"]);

/** For what a model is asked. */
export type Kind = "turn" | "summary" | "subagent";

/** A call that is held back. */
export interface Held {
  readonly incarnation: Incarnation;
  readonly kind: Kind;
  readonly release: () => void;
}

export interface ModelScriptParts {
  /** Tokens that the server counts per estimated one; null: it reports none. */
  readonly ratio: number | null;
  /** Whether a request is of an agent that answers in the channel of another one. */
  readonly isOfGuest: (prompt: Prompt) => boolean;
  /** How the message with this marker is to be answered. */
  readonly replyTo: (marker: string) => Reply | undefined;
  /** Told of every request as it is sent. */
  readonly onSent: (request: ModelRequest) => void;
  /** … as it arrives, before it is answered. */
  readonly onRequest: (
    incarnation: Incarnation,
    request: ModelRequest,
    kind: Kind,
    isForOneCall: boolean,
  ) => Promise<void>;
  /** Told of each request that is refused because it is too long for the server. */
  readonly onRefused: () => void;
  /** Told of whatever may end a wait. */
  readonly onChange: () => void;
  readonly onAnswer: (
    incarnation: Incarnation,
    request: ModelRequest,
    answer: ModelAnswer,
    kind: Kind,
  ) => void;
}

/** Both models of a run, as a script tells them to be. */
export class ModelScript {
  readonly #parts: ModelScriptParts;
  readonly #held = new Set<Held>();
  readonly #busy = new Map<Incarnation, number>();
  readonly #once = new Set<string>();
  #count = 0;
  mode: SummaryMode = "good";
  /** Calls of turns that ask for it are held. */
  isPatient = true;
  /** The model that answers people does not; if there is a fallback, that does. */
  isAway = false;

  /** Conversations whose last request was refused as too long. */
  readonly #refused = new WeakMap<Incarnation, Set<string | undefined>>();

  constructor(parts: ModelScriptParts) {
    this.#parts = parts;
  }

  /** The models as one incarnation reaches them. */
  front(incarnation: Incarnation): Model {
    return {
      answer: async (request, options) => {
        const kind = kindOf(request);
        this.#parts.onSent(request);
        await incarnation.gate(kind, "before");
        if (options.signal.aborted) throw aborted(request);
        this.#count++;
        const answer = await this.#answer(incarnation, request, options, kind, this.#count);
        await incarnation.gate(kind, "after");
        if (options.signal.aborted) throw aborted(request);
        this.#parts.onAnswer(incarnation, request, answer, kind);
        return answer;
      },
    };
  }

  /** Made for a fallback, or smaller than one that was refused: what it does not show is in the channel's view all the same. */
  #isForOneCall(incarnation: Incarnation, { model, cacheKey }: ModelRequest): boolean {
    return model === UNDERSTUDY || this.#refused.get(incarnation)?.has(cacheKey) === true;
  }

  /** Calls that are held back. */
  held(incarnation: Incarnation, kind: Kind): number {
    let count = 0;
    for (const one of this.#held) count += Number(one.incarnation === incarnation && one.kind === kind);
    return count;
  }

  heldCalls(incarnation: Incarnation): Held[] {
    return [...this.#held].filter((one) => one.incarnation === incarnation);
  }

  isHeld(incarnation: Incarnation, kind: Kind): boolean {
    return this.held(incarnation, kind) > 0;
  }

  /** Calls that are being answered, held ones not counted. */
  busy(incarnation: Incarnation): number {
    return this.#busy.get(incarnation) ?? 0;
  }

  release(kind: Kind): void {
    for (const one of this.#held) if (one.kind === kind) one.release();
  }

  async #answer(
    incarnation: Incarnation,
    request: ModelRequest,
    options: ModelCallOptions,
    kind: Kind,
    n: number,
  ): Promise<ModelAnswer> {
    options.onAttempt?.(request.model);
    this.#work(incarnation, 1);
    try {
      await this.#parts.onRequest(incarnation, request, kind, this.#isForOneCall(incarnation, request));
      const prompt = kind === "turn" ? takeApart(request) : null;
      const reply = prompt === null ? "plain" : this.#replyFor(askedBy(prompt));
      const isHeld = this.#holds(kind, request, reply);
      // So much is shown, now and then, of an answer that may never come.
      if (isHeld && kind === "turn" && n % 2 === 0) options.onText?.("Let me think. ");
      if (isHeld) await this.#hold(incarnation, kind, request, options.signal);
      if (kind !== "summary") this.#refuse(incarnation, request);
      this.#refused.get(incarnation)?.delete(request.cacheKey);
      const mode = request.model === SUMMARISER ? this.mode : "mixed";
      const said =
        kind === "subagent"
          ? work(request, n)
          : prompt === null
            ? summarise(mode, request, n)
            : talk(this.#again(reply, prompt), request, prompt, n);
      if (said.text !== "") options.onText?.(said.text.slice(0, 8));
      if (said.text.length > 8) options.onText?.(said.text.slice(8));
      const usage = this.#usage(request);
      const { model } = request;
      options.onCall?.({ ...ENDED, model, outcome: "answered", usage, isPaid: true });
      return { ...said, model, usage };
    } catch (error) {
      if (error instanceof ModelError) {
        const { kind: outcome, model } = error;
        options.onCall?.({ ...ENDED, model, outcome, usage: undefined, isPaid: outcome === "aborted" });
      }
      throw error;
    } finally {
      this.#work(incarnation, -1);
    }
  }

  /** What it does once it does not do again. */
  #again(reply: Reply, prompt: Prompt): Reply {
    if (reply !== "spawn_once") return reply;
    const asked = askedBy(prompt).join(" ");
    const isAgain = this.#once.has(asked);
    this.#once.add(asked);
    return isAgain ? "plain" : reply;
  }

  #holds(kind: Kind, request: ModelRequest, reply: Reply): boolean {
    if (kind === "summary") return this.mode === "held";
    return this.isPatient && (kind === "turn" ? SLOW.has(reply) : taskIn(request).includes(SLOWLY));
  }

  /** @throws ModelError if the model is away, or takes less than the request has */
  #refuse(incarnation: Incarnation, request: ModelRequest): void {
    const { profile } = incarnation;
    const { model, maxOutputTokens } = request;
    if (model !== MODEL) return;
    if (this.isAway) throw new ModelError("unavailable", model, "scripted");
    const tokens = Math.ceil(estimateRequest(request) * this.#ratioOf(request)) + maxOutputTokens;
    const { realWindow, tellsWindow, window } = profile;
    if (realWindow === window || tokens <= realWindow) return;
    this.#parts.onRefused();
    const refused = this.#refused.get(incarnation) ?? new Set();
    this.#refused.set(incarnation, refused.add(request.cacheKey));
    throw new ModelError("context_length", model, "scripted", {
      isSurelySize: true,
      ...(tellsWindow && { window: realWindow }),
    });
  }

  #replyFor(markers: readonly string[]): Reply {
    const known = markers.flatMap((marker) => this.#parts.replyTo(marker) ?? []);
    return known.at(-1) ?? "plain";
  }

  #usage(request: ModelRequest): ModelAnswer["usage"] {
    if (this.#parts.ratio === null) return undefined;
    const promptTokens = Math.ceil(estimateRequest(request) * this.#ratioOf(request));
    return { promptTokens, cachedTokens: 0, writtenTokens: 0, completionTokens: 10 };
  }

  /** Real tokens per estimated one. */
  #ratioOf(request: ModelRequest): number {
    const { ratio, isOfGuest } = this.#parts;
    const isGuest = kindOf(request) === "turn" && isOfGuest(takeApart(request));
    return (ratio ?? 1) * (isGuest ? GUEST_COUNTS : 1);
  }

  async #hold(
    incarnation: Incarnation,
    kind: Kind,
    request: ModelRequest,
    signal: AbortSignal,
  ): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const held: Held = { incarnation, kind, release: resolve };
    this.#held.add(held);
    this.#work(incarnation, -1);
    signal.addEventListener("abort", () => resolve(), { once: true });
    if (signal.aborted) resolve();
    await promise;
    this.#work(incarnation, 1);
    this.#held.delete(held);
    if (signal.aborted) throw aborted(request);
  }

  #work(incarnation: Incarnation, change: number): void {
    this.#busy.set(incarnation, this.busy(incarnation) + change);
    this.#parts.onChange();
  }
}

function kindOf(request: ModelRequest): Kind {
  if (request.task === "summarise" || request.task === "revise") return "summary";
  return isOfSubagent(request) ? "subagent" : "turn";
}

function aborted({ model }: ModelRequest): ModelError {
  return new ModelError("aborted", model, "the caller ended the call");
}
