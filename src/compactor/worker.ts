import type { JobKind, JobResult, SummaryPart } from "../core/compaction.ts";
import type { Entry } from "../core/entry.ts";
import type { Summary } from "../core/history.ts";
import type { MemoryDraft } from "../core/memory.ts";
import { estimateTokens } from "../core/tokens.ts";
import { type Model, type ModelCallRecord, ModelError } from "../llm/model.ts";
import { mergeMemories } from "../memory/gates.ts";
import { inSlices } from "../telemetry/in-slices.ts";
import { type Refusal, refuse } from "./checks.ts";
import { type Chunk, chunkTranscript, MIN_CHUNK_TOKENS, wholeTranscript } from "./chunks.ts";
import { RequestBuilder, summaryMessages, type WorkerAgent } from "./requests.ts";
import { sourcesOf, transcribe, type TranscriptLine } from "./transcript.ts";
import { estimateRequest, writeSummary, type WritingTask, type Written } from "./writer.ts";

export type { CompactorTexts, WorkerAgent } from "./requests.ts";

export interface Material {
  readonly kind: JobKind;
  /** Raw entries of the range; null where only summaries fit. */
  readonly entries: readonly Entry[] | null;
  /** To be merged, or the one to be written again. */
  readonly summaries: readonly Summary[];
  /** The live summary before the range. */
  readonly neighbour: Summary | null;
}

export interface AttemptOptions {
  readonly model: Model;
  readonly modelName: string;
  /** Of the summariser. */
  readonly windowTokens: number;
  /** Longest summary, estimated tokens. */
  readonly capTokens: number;
  readonly sourceTokens: number;
  /** Output tokens that the model may think with, at most an eighth of its window. */
  readonly thinkingAllowance: number;
  readonly memory: boolean;
  /** What an earlier attempt has finished of the same range. */
  readonly done: JobResult;
  readonly signal: AbortSignal;
  /** Called after each finished part of a long transcript, before the next call. */
  readonly onProgress: (result: JobResult) => Promise<void>;
  readonly onCall: (record: ModelCallRecord, estimatedTokens: number) => void;
}

export type AttemptOutcome =
  | { readonly kind: "finished"; readonly result: JobResult }
  | { readonly kind: "refused"; readonly refusal: Refusal }
  /** `why`: the kind of failure, and nothing that a provider said. */
  | { readonly kind: "unavailable"; readonly why: string }
  | { readonly kind: "aborted" };

/** The shortest summary of a part. */
const MIN_PART_TOKENS = 120;
/** Of a summary that is to be merged. */
const LABEL_TOKENS = 16;
const NOTHING_SAID: Refusal = { kind: "empty", why: "there is nothing to summarise" };

/**
 * One attempt at one summary with one model. A transcript that does not fit one request is summarised in parts, which
 * are then put together; parts that an earlier attempt has finished are not asked for again.
 * @throws what `onProgress` throws, and nothing of the model's
 */
export async function attemptSummary(
  agent: WorkerAgent,
  material: Material,
  options: AttemptOptions,
): Promise<AttemptOutcome> {
  const attempt = new Attempt(agent, material, options);
  try {
    return await attempt.run();
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    if (options.signal.aborted || error.kind === "aborted") return { kind: "aborted" };
    return { kind: "unavailable", why: error.kind };
  }
}

type Limits = Pick<WritingTask, "capTokens" | "sourceTokens">;

class Attempt {
  readonly #agent: WorkerAgent;
  readonly #material: Material;
  readonly #options: AttemptOptions;
  readonly #lines: readonly TranscriptLine[];
  #parts: readonly SummaryPart[];
  #memories: readonly MemoryDraft[];
  #requests: RequestBuilder;
  /** Tokens that a transcript may take in one request. */
  #room: number;

  constructor(agent: WorkerAgent, material: Material, options: AttemptOptions) {
    this.#agent = agent;
    this.#material = material;
    this.#options = options;
    this.#lines = material.entries === null ? [] : transcribe(material.entries, agent);
    this.#parts = options.done.parts;
    this.#memories = options.done.memories;
    const { neighbour } = material;
    const background = neighbour === null || neighbour.kind === "reset" ? null : neighbour.text;
    this.#requests = this.#builder(options.windowTokens, background);
    this.#room = this.#roomOf(this.#requests);
    if (this.#room >= MIN_CHUNK_TOKENS || background === null) return;
    // In a small window the transcript is worth more than what came before it.
    this.#requests = this.#builder(options.windowTokens, null);
    this.#room = this.#roomOf(this.#requests);
  }

  async run(): Promise<AttemptOutcome> {
    if (this.#room < MIN_CHUNK_TOKENS) return { kind: "unavailable", why: "its window is too small" };
    try {
      return await this.#write();
    } catch (error) {
      if (!(error instanceof ModelError) || error.kind !== "context_length") throw error;
      // The window is smaller than it was thought to be, or the text has more tokens: once more, in smaller pieces.
      if (error.window !== undefined) this.#requests = this.#builder(error.window, null);
      const room = Math.min(this.#roomOf(this.#requests), Math.floor(this.#room / 2));
      this.#room = Math.max(MIN_CHUNK_TOKENS, room);
      return this.#write();
    }
  }

  get #isMemory(): boolean {
    return this.#options.memory && this.#material.kind === "leaf";
  }

  #builder(windowTokens: number, background: string | null): RequestBuilder {
    const { thinkingAllowance } = this.#options;
    const isRedo = this.#material.kind === "redo";
    return new RequestBuilder(this.#agent, {
      windowTokens,
      thinkingAllowance,
      isMemory: this.#isMemory,
      isRedo,
      background,
    });
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
    const texts = summaries.filter((one) => one.kind !== "reset").map(({ text }) => text);
    if (texts.length === 0) return { kind: "refused", refusal: NOTHING_SAID };
    const limits = { capTokens: this.#options.capTokens, sourceTokens: sumTokens(texts) };
    return this.#finish(await this.#combine(texts, limits));
  }

  async #writeWhole(tokens: number): Promise<Written> {
    const { capTokens, sourceTokens } = this.#options;
    const text = wholeTranscript(this.#lines);
    // What a merge or a redo replaces says nothing about how long the text is from which it is written.
    const limits = { capTokens, sourceTokens: this.#material.kind === "leaf" ? sourceTokens : tokens };
    return this.#writeText(text, this.#lines, limits, { part: 1, parts: 1 });
  }

  /** Each part is saved before the next one is asked for. */
  async #writeParts(): Promise<AttemptOutcome> {
    const chunks = await this.#chunksLeft();
    const parts = this.#parts.length + chunks.length;
    const share = Math.max(MIN_PART_TOKENS, Math.floor(this.#room / parts));
    const capTokens = Math.min(this.#options.capTokens, share, Math.floor(this.#room / 2));
    for (const chunk of chunks) {
      const limits = { capTokens, sourceTokens: chunk.tokens };
      const place = { part: this.#parts.length + 1, parts };
      const written = await this.#writeText(chunk.text, chunk.lines, limits, place);
      if (written.kind === "refused") return written;
      this.#addPart(chunk, written);
      await this.#options.onProgress({ parts: this.#parts, memories: this.#memories, summary: null });
      if (this.#options.signal.aborted) return { kind: "aborted" };
    }
    const texts = this.#parts.map(({ text }) => text);
    const joined = texts.join("\n");
    const isFit = refuse({ text: joined, finish: "stop" }, this.#options) === null;
    if (isFit)
      return this.#finish({ kind: "written", text: joined, model: this.#options.modelName, memories: [] });
    // Against the whole: parts that are short already need not shrink by a third once more.
    const { sourceTokens } = this.#options;
    const limits = {
      capTokens: this.#options.capTokens,
      sourceTokens: Math.max(sumTokens(texts), sourceTokens),
    };
    return this.#finish(await this.#combine(texts, limits));
  }

  /** What follows the finished parts; where they do not belong to this transcript, all of it, and they are void. */
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

  #addPart({ lines, end }: Chunk, { text, memories }: Extract<Written, { kind: "written" }>): void {
    const part = { fromSeq: lines[0]?.entry.seq ?? end.seq, toSeq: end.seq, piece: end.piece, text };
    this.#parts = [...this.#parts, part];
    this.#memories = mergeMemories([...this.#memories, ...memories]);
  }

  async #writeText(
    text: string,
    lines: readonly TranscriptLine[],
    limits: Limits,
    place: { readonly part: number; readonly parts: number },
  ): Promise<Written> {
    const messages = this.#requests.transcript(text, lines, limits, place);
    const sources = this.#isMemory ? sourcesOf(lines) : null;
    return this.#ask({ ...limits, messages, sources, sample: text });
  }

  /** Makes one summary of several, oldest first; in halves where they do not fit one request. */
  async #combine(texts: readonly string[], limits: Limits): Promise<Written> {
    if (texts.length > 1 && estimateRequest(summaryMessages(texts), []) > this.#room) {
      const middle = Math.ceil(texts.length / 2);
      const older = await this.#combineHalf(texts.slice(0, middle));
      if (older.kind === "refused") return older;
      const newer = await this.#combineHalf(texts.slice(middle));
      if (newer.kind === "refused") return newer;
      return this.#combine([older.text, newer.text], limits);
    }
    const messages = this.#requests.merge(texts, limits);
    return this.#ask({ ...limits, messages, sources: null, sample: texts.join("\n") });
  }

  /** So short that two of them fit one request. */
  async #combineHalf(texts: readonly string[]): Promise<Written> {
    const sourceTokens = sumTokens(texts);
    const capTokens = Math.min(this.#options.capTokens, Math.floor(this.#room / 2) - LABEL_TOKENS);
    const [only] = texts;
    if (texts.length === 1 && only !== undefined && sourceTokens <= capTokens) {
      return { kind: "written", text: only, model: this.#options.modelName, memories: [] };
    }
    return this.#combine(texts, { capTokens, sourceTokens });
  }

  async #ask(task: Omit<WritingTask, "maxOutputTokens">): Promise<Written> {
    const { texts, agentName } = this.#agent;
    const maxOutputTokens = this.#requests.outputTokens(task.capTokens);
    return writeSummary({ ...task, maxOutputTokens }, { ...this.#options, texts, agentName });
  }

  #finish(written: Written): AttemptOutcome {
    if (written.kind === "refused") return written;
    const { text, model, memories } = written;
    const summary = { kind: "model", text, tokens: estimateTokens(text), model } as const;
    const all = mergeMemories([...this.#memories, ...memories]);
    return { kind: "finished", result: { parts: [], memories: all, summary } };
  }
}

function sumTokens(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + estimateTokens(text), 0);
}
