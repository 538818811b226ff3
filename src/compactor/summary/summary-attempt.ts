import { ASKED_SHARE } from "../policy/merge.ts";
import type { SummaryPart } from "../../core/compaction.ts";
import { joinSpans, legalCuts, type Summary } from "../../core/history.ts";
import { estimateTokens, MESSAGE_OVERHEAD, sumTokens } from "../../text/tokens.ts";
import { SUMMARY_LABEL_TOKENS } from "../../context/render.ts";
import { ModelError, type TokenUsage } from "../../llm/model.ts";
import { learn, type MadeRequest } from "../../llm/retrying-model.ts";
import { joinSaved, NOTHING_SAVED, type SavedDrafts } from "../../memory/save-call.ts";
import { inSlices } from "../../async/cooperative.ts";
import { type SummaryRejection, rejectionOf } from "./summary-checks.ts";
import type { AttemptOptions, AttemptOutcome, Material, SummarisedRange } from "./attempt.ts";
import { type Chunk, chunkTranscript, legalEnds, MIN_CHUNK_TOKENS, wholeTranscript } from "./chunks.ts";
import { SecondTry } from "./second-try.ts";
import { linesOf, linesOfTexts } from "./source.ts";
import { RequestBuilder, summaryMessages, type SummaryText, type WorkerAgent } from "./requests.ts";
import { sourcesOf, transcribe, type TranscriptLine } from "./transcript.ts";
import {
  CallBudget,
  estimateRequest,
  type Limits,
  TEXT_CALLS,
  writeSummary,
  type WritingTask,
  type Written,
} from "./writer.ts";

export type { AttemptOptions, AttemptOutcome, Material } from "./attempt.ts";
export type { CompactorTexts, WorkerAgent } from "./requests.ts";

/** The shortest summary of a part. */
const MIN_PART_TOKENS = 120;
/** A shorter part, such as the last one, counts as this much, since its summary is as long as its text. */
const LEAST_OF_PART = 2 * MIN_PART_TOKENS;
/** Tokens of a summary in a merge request besides its text: its label and the message overhead. */
const LABEL_TOKENS = SUMMARY_LABEL_TOKENS + MESSAGE_OVERHEAD;
const NOTHING_SAID: SummaryRejection = { kind: "empty", why: "there is nothing to summarise" };

/**
 * One attempt at one summary. A transcript that does not fit one request is summarised in parts, which are then merged.
 * Parts that an earlier attempt has finished are reused.
 * @throws errors of `onProgress`; a ModelError becomes an outcome
 */
export async function attemptSummary(
  agent: WorkerAgent,
  material: Material,
  options: AttemptOptions,
): Promise<AttemptOutcome> {
  const attempt = new SummaryAttempt(agent, material, options);
  try {
    return await attempt.run();
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    if (options.signal.aborted || error.kind === "aborted") return { kind: "aborted" };
    return { kind: "unavailable", why: error.kind };
  }
}

type Combined = SummaryText & Pick<Summary, "tokens">;

class SummaryAttempt {
  readonly #agent: WorkerAgent;
  readonly #material: Material;
  readonly #options: AttemptOptions;
  readonly #lines: readonly TranscriptLine[];
  #parts: readonly SummaryPart[];
  #saved: SavedDrafts;
  #requests: RequestBuilder;
  /** Token budget of a transcript in one request. */
  #room: number;
  readonly #budget: CallBudget;
  readonly #secondTry: SecondTry;
  /** The requested model, or the fallback that answered last. */
  #modelName: string;
  /** The last request, and the usage of the last answered one. */
  #made: MadeRequest | null = null;
  #usage: TokenUsage | undefined;
  /** Tokens of the window that its requests must fit. */
  #window: number;
  /** A fallback that was skipped because its window is too small. */
  #tooSmall: { readonly model: string; readonly window: number } | null = null;
  /** Parts that this attempt has written or merged, and saved. */
  #savedParts = 0;

  constructor(agent: WorkerAgent, material: Material, options: AttemptOptions) {
    this.#agent = agent;
    this.#material = material;
    this.#options = options;
    this.#budget = new CallBudget(options.maxCalls);
    this.#secondTry = new SecondTry((reason) => options.onSecondTry?.(reason));
    this.#modelName = options.modelName;
    this.#window = options.windowTokens;
    this.#lines = material.entries === null ? [] : transcribe(material.entries, agent);
    this.#parts = options.done.parts;
    this.#saved = { memories: options.done.memories, learned: options.done.learned ?? {} };
    const { neighbour } = material;
    const background = neighbour === null || neighbour.kind === "reset" ? null : neighbour;
    this.#requests = this.#builder(options.windowTokens, background);
    this.#room = this.#roomOf(this.#requests);
    if (this.#room >= MIN_CHUNK_TOKENS || background === null) return;
    // In a small window the transcript matters more than the summary before it.
    this.#requests = this.#builder(options.windowTokens, null);
    this.#room = this.#roomOf(this.#requests);
  }

  async run(): Promise<AttemptOutcome> {
    if (this.#room < MIN_CHUNK_TOKENS) return { kind: "unavailable", why: "its window is too small" };
    try {
      const outcome = await this.#writeInWindow();
      const isSpent = outcome.kind === "refused" && outcome.rejection.kind === "calls_spent";
      return isSpent && this.#savedParts > 0 ? { kind: "unfinished" } : outcome;
    } catch (error) {
      // Failed calls have used up the budget: the next attempt resumes from the saved parts.
      const isSpent = error instanceof ModelError && error.kind !== "aborted" && this.#budget.left <= 0;
      if (isSpent && this.#savedParts > 0) return { kind: "unfinished" };
      throw error;
    }
  }

  async #writeInWindow(): Promise<AttemptOutcome> {
    try {
      return await this.#write();
    } catch (error) {
      if (!(error instanceof ModelError) || error.kind === "aborted") throw error;
      if (error.kind === "context_length" || error.mayBeSize) return this.#writeSmaller(error);
      if (this.#tooSmall === null) throw error;
      // Only a fallback with a smaller window is left.
      ({ model: this.#modelName, window: this.#window } = this.#tooSmall);
      this.#requests = this.#builder(this.#window, null);
      this.#room = this.#roomOf(this.#requests);
      if (this.#room < MIN_CHUNK_TOKENS) throw error;
      return this.#write();
    }
  }

  /** The window is smaller than assumed, or the text has more tokens than estimated: tries once more with smaller pieces. */
  async #writeSmaller(error: ModelError): Promise<AttemptOutcome> {
    const before = this.#made;
    const room = this.#room;
    if (error.window !== undefined) this.#requests = this.#builder(error.window, null);
    // The refused request may be far smaller than the assumed room.
    const beside = this.#window - room - (before?.reserve ?? 0);
    const half = Math.floor(Math.min(room, (before?.estimated ?? room) - beside) / 2);
    this.#room = Math.max(MIN_CHUNK_TOKENS, Math.min(this.#roomOf(this.#requests), half));
    this.#window = Math.min(error.window ?? Infinity, this.#window - (room - this.#room));
    try {
      const outcome = await this.#write();
      const made = this.#made;
      const isSame = made !== null && before?.request.model === made.request.model;
      if (isSame && outcome.kind === "finished") {
        const evidence = this.#options.evidenceOf?.(made.request.model);
        if (evidence !== undefined)
          learn(evidence, [{ ...before, failure: error }], made, { usage: this.#usage });
      }
      return outcome;
    } catch (again) {
      // The smaller request failed, too: the size was not the cause.
      throw again instanceof ModelError && again.kind !== "aborted" && error.kind !== "context_length"
        ? error
        : again;
    }
  }

  get #isMemory(): boolean {
    return this.#options.memory && this.#material.kind === "leaf";
  }

  #builder(windowTokens: number, background: Summary | null): RequestBuilder {
    return new RequestBuilder(this.#agent, {
      ...this.#options,
      windowTokens,
      isMemory: this.#isMemory,
      isRedo: this.#material.kind === "redo",
      background,
    });
  }

  get #lengths(): Pick<Limits, "capTokens" | "askedTokens"> {
    const { capTokens, askedTokens = capTokens } = this.#options;
    return { capTokens, askedTokens };
  }

  #roomOf(requests: RequestBuilder): number {
    return requests.room(this.#material.entries ?? [], this.#options.capTokens);
  }

  async #write(): Promise<AttemptOutcome> {
    const { kind, summaries } = this.#material;
    const tokens = estimateTokens(wholeTranscript(this.#lines), this.#room);
    const isWhole = tokens <= this.#room && this.#parts.length === 0;
    if (this.#lines.length > 0 && (isWhole || kind !== "merge" || summaries.length === 0)) {
      return isWhole ? this.#finish(await this.#writeWhole(tokens)) : this.#writeParts();
    }
    const written = summaries.filter((one) => one.kind !== "reset");
    if (written.length === 0) return { kind: "refused", rejection: NOTHING_SAID };
    const limits = { ...this.#lengths, sourceTokens: sumTokens(written), isDense: true };
    return this.#finish(await this.#combine(written, limits));
  }

  async #writeWhole(tokens: number): Promise<Written> {
    const { sourceTokens } = this.#options;
    const text = wholeTranscript(this.#lines);
    // For a merge or a redo, `sourceTokens` counts the replaced summaries and not this text.
    const limits = { ...this.#lengths, sourceTokens: this.#material.kind === "leaf" ? sourceTokens : tokens };
    return this.#writeText(text, this.#lines, { ...limits, keptCalls: 0 }, { part: 1, parts: 1 });
  }

  /** Saves each part before it asks for the next one. */
  async #writeParts(): Promise<AttemptOutcome> {
    const chunks = await this.#chunksLeft();
    const parts = this.#planned(chunks.length);
    const share = Math.max(MIN_PART_TOKENS, Math.floor(this.#room / parts));
    const capTokens = Math.min(this.#options.capTokens, share, Math.floor(this.#room / 2));
    for (const chunk of chunks) {
      const mayBegin = this.#mayBegin();
      const range = mayBegin && this.#parts.length < parts ? null : this.#finishedRange(chunk);
      if (range !== null) return this.#putTogether(range);
      if (!mayBegin) return { kind: "unfinished" };
      const sourceTokens = Math.max(chunk.tokens, LEAST_OF_PART);
      const askedTokens = Math.floor(capTokens * ASKED_SHARE);
      const limits = { capTokens, askedTokens, sourceTokens, keptCalls: TEXT_CALLS };
      const place = { part: this.#parts.length + 1, parts: Math.max(parts, this.#parts.length + 1) };
      const written = await this.#writeText(chunk.text, chunk.lines, limits, place);
      if (written.kind === "refused") return written;
      this.#addPart(chunk, written);
      await this.#options.onProgress({ parts: this.#parts, ...this.#saved, summary: null });
      if (this.#options.signal.aborted) return { kind: "aborted" };
    }
    return this.#putTogether(null);
  }

  /** Number of parts to write: if the range may end early, only as many as the calls allow and one merge request holds. */
  #planned(chunks: number): number {
    const all = this.#parts.length + chunks;
    if (this.#options.mayEndFrom === null) return all;
    const affordable = Math.floor((this.#options.maxCalls - TEXT_CALLS - 1) / this.#callsOfPart);
    const mergeable = Math.floor(this.#room / (MIN_PART_TOKENS + LABEL_TOKENS));
    return Math.min(all, Math.max(2, Math.min(affordable, mergeable)));
  }

  /** Expected calls for a part: one for the memories, if wanted, and one for the text. */
  get #callsOfPart(): number {
    return this.#isMemory ? 2 : 1;
  }

  /** Each attempt may write one part, to make progress; further parts only if calls are left for a shorter text. */
  #mayBegin(): boolean {
    return this.#savedParts === 0 || this.#budget.left - TEXT_CALLS > this.#callsOfPart;
  }

  /** The range of the finished parts, or null if a summary must not end there. @param next the chunk after them */
  #finishedRange(next: Chunk): SummarisedRange | null {
    const { mayEndFrom } = this.#options;
    const entries = this.#material.entries ?? [];
    const last = this.#parts.at(-1);
    const following = next.lines[0];
    if (mayEndFrom === null || last === undefined || following === undefined) return null;
    if (following.entry.seq === last.toSeq || !legalEnds(this.#lines).has(last.toSeq)) return null;
    const behind = Math.min(...this.#lines.slice(following.number - 1).map(({ entry }) => entry.seq));
    const cuts = legalCuts(entries);
    const toSeq = entries.findLast(({ seq }) => seq < behind && cuts.has(seq))?.seq ?? 0;
    if (toSeq < mayEndFrom || toSeq < last.toSeq) return null;
    return { toSeq, sourceTokens: sumTokens(entries.filter(({ seq }) => seq <= toSeq)) };
  }

  /** @param range the range of the finished parts; null: the whole material */
  async #putTogether(range: SummarisedRange | null): Promise<AttemptOutcome> {
    const { capTokens, modelName } = this.#options;
    const sourceTokens = range?.sourceTokens ?? this.#options.sourceTokens;
    const joined = this.#parts.map(({ text }) => text).join("\n");
    const isFit = rejectionOf({ text: joined, finish: "stop" }, { capTokens, sourceTokens }) === null;
    if (isFit)
      return this.#finish({ kind: "written", text: joined, model: modelName, saved: NOTHING_SAVED }, range);
    // Merging takes more calls than are reserved: it is left to the next attempt, with a whole budget.
    if (this.#savedParts > 0 && !this.#fitsRequest(textsOf(this.#parts))) return { kind: "unfinished" };
    const end = await this.#makeFewer();
    if (end !== null) return end;
    const texts = textsOf(this.#parts);
    // Compared with the whole source: parts that are already short need not shrink by a third again.
    const limits = { ...this.#lengths, sourceTokens: Math.max(sumTokens(texts), sourceTokens) };
    return this.#finish(await this.#combine(texts, limits), range);
  }

  /**
   * Merges neighbouring parts until one request holds all parts; each step is saved.
   * @returns null: all parts fit one request
   */
  async #makeFewer(): Promise<AttemptOutcome | null> {
    for (;;) {
      if (this.#savedParts > 0 && this.#budget.left < TEXT_CALLS) return { kind: "unfinished" };
      const group = this.#fitsRequest(textsOf(this.#parts)) ? [] : this.#groupToMerge();
      const [first, second] = group;
      const last = group.at(-1);
      if (first === undefined || second === undefined || last === undefined) return null;
      const written = await this.#combineHalf(textsOf(group));
      if (written.kind === "refused") return written;
      const part = { ...last, fromSeq: first.fromSeq, text: written.text };
      this.#parts = this.#parts.toSpliced(this.#parts.indexOf(first), group.length, part);
      this.#savedParts++;
      await this.#options.onProgress({ parts: this.#parts, ...this.#saved, summary: null });
      if (this.#options.signal.aborted) return { kind: "aborted" };
    }
  }

  /** The shortest part and as many following parts as one request holds. */
  #groupToMerge(): readonly SummaryPart[] {
    const lengths = this.#parts.map(({ text }) => estimateTokens(text));
    const from = Math.min(lengths.indexOf(Math.min(...lengths)), this.#parts.length - 2);
    let to = from + 1;
    while (to < this.#parts.length && this.#fitsRequest(textsOf(this.#parts.slice(from, to + 1)))) to++;
    return this.#parts.slice(from, to);
  }

  /** The chunks after the finished parts. If the parts are of another transcript, drops them and returns all chunks. */
  async #chunksLeft(): Promise<Chunk[]> {
    const last = this.#parts.at(-1);
    const isOurs = this.#parts[0]?.fromSeq === this.#lines[0]?.entry.seq;
    const from = last === undefined ? null : { seq: last.toSeq, piece: last.piece };
    const left =
      isOurs || last === undefined ? await inSlices(chunkTranscript(this.#lines, this.#room, from)) : null;
    if (left !== null) return left;
    this.#parts = [];
    return (await inSlices(chunkTranscript(this.#lines, this.#room))) ?? [];
  }

  #addPart({ lines, end }: Chunk, { text, saved }: Extract<Written, { kind: "written" }>): void {
    const part = { fromSeq: lines[0]?.entry.seq ?? end.seq, toSeq: end.seq, piece: end.piece, text };
    this.#parts = [...this.#parts, part];
    this.#savedParts++;
    this.#saved = joinSaved(this.#saved, saved);
  }

  async #writeText(
    text: string,
    lines: readonly TranscriptLine[],
    limits: Limits & Pick<WritingTask, "keptCalls">,
    place: { readonly part: number; readonly parts: number },
  ): Promise<Written> {
    const messages = this.#requests.transcript(text, lines, limits, place);
    const [sources, beside] = [this.#isMemory ? sourcesOf(lines) : null, this.#requests.beside(lines)];
    const { agentName, time } = this.#agent;
    const said = linesOf(lines, text, agentName, (at) => time.day(at));
    const calls = this.#lines.map(({ entry }) => entry);
    return this.#ask({ ...limits, messages, sources, calls, beside, sample: text, lines: said });
  }

  #fitsRequest(summaries: readonly SummaryText[]): boolean {
    return estimateRequest(summaryMessages(summaries, this.#agent.time), []) <= this.#room;
  }

  /** Merges summaries, oldest first, into one; in halves if they do not fit one request. */
  async #combine(summaries: readonly Combined[], limits: Limits): Promise<Written> {
    if (summaries.length > 1 && !this.#fitsRequest(summaries)) {
      const middle = Math.ceil(summaries.length / 2);
      const halves: Combined[] = [];
      for (const half of [summaries.slice(0, middle), summaries.slice(middle)]) {
        const written = await this.#combineHalf(half);
        if (written.kind === "refused") return written;
        const { text } = written;
        halves.push({ text, span: joinSpans(half.map(({ span }) => span)), tokens: estimateTokens(text) });
      }
      return this.#combine(halves, limits);
    }
    const messages = this.#requests.merge(summaries, limits);
    const texts = summaries.map(({ text }) => text);
    const lines = linesOfTexts(texts);
    return this.#ask({ ...limits, messages, sources: null, sample: texts.join("\n"), lines, keptCalls: 0 });
  }

  /** Merges into a summary so short that two of them fit one request. */
  async #combineHalf(summaries: readonly Combined[]): Promise<Written> {
    const sourceTokens = sumTokens(summaries);
    const capTokens = Math.min(this.#options.capTokens, Math.floor(this.#room / 2) - LABEL_TOKENS);
    const [only] = summaries;
    if (summaries.length === 1 && only !== undefined && sourceTokens <= capTokens) {
      return { kind: "written", text: only.text, model: this.#options.modelName, saved: NOTHING_SAVED };
    }
    const askedTokens = Math.floor(capTokens * ASKED_SHARE);
    return this.#combine(summaries, { capTokens, askedTokens, sourceTokens, isDense: true });
  }

  async #ask(task: Omit<WritingTask, "maxOutputTokens">): Promise<Written> {
    const { texts, agentName, time, memorySave } = this.#agent;
    const written = await writeSummary(
      { ...task, maxOutputTokens: this.#requests.outputTokens(task.capTokens) },
      {
        ...this.#options,
        modelName: this.#modelName,
        windowTokens: this.#window,
        onCall: (record, estimated) => {
          this.#usage = record.usage;
          this.#options.onCall(record, estimated);
        },
        onMade: (made) => void (this.#made = made),
        onTooSmall: (model, window) => void (this.#tooSmall = { model, window }),
        texts,
        memorySave,
        agentName,
        time,
        budget: this.#budget,
        secondTry: this.#secondTry,
      },
    );
    if (written.kind === "written") this.#modelName = written.model;
    return written;
  }

  #finish(written: Written, range: SummarisedRange | null = null): AttemptOutcome {
    if (written.kind === "refused") return written;
    const { text, model, saved } = written;
    const summary = { kind: "model", text, tokens: estimateTokens(text), model } as const;
    const all = joinSaved(this.#saved, saved);
    return { kind: "finished", result: { parts: [], ...all, summary }, range };
  }
}

function textsOf(parts: readonly SummaryPart[]): Combined[] {
  return parts.map(({ text }) => ({ text, span: null, tokens: estimateTokens(text) }));
}
