import { configuredPrice, configuredWindow, MIN_WINDOW, type ModelConfig } from "../../config/config.ts";
import {
  type Anchor,
  isTelling,
  MAX_FACTOR,
  MIN_FACTOR,
  nextFactor,
  UNCALIBRATED,
} from "../../core/calibration.ts";
import type { ModelPrice } from "../../core/cost.ts";
import type { TokenUsage } from "../model.ts";
import { notify } from "../notify.ts";
import type { LearnedModel, LearnedWindow } from "./learned-models.ts";
import { UNKNOWN_WINDOW } from "./model-catalog.ts";
import type { RunningWindow } from "./ollama.ts";
import {
  type LearnedSource,
  READINGS,
  readingOf,
  type SentSize,
  silentCut,
  type Suspicion,
  type WindowEvidence,
} from "./window-evidence.ts";

const DAY_MS = 24 * 3_600_000;
/** How long a window is valid, by its source: a server's statement lasts longer than a guess. */
const BELIEVED_MS: Readonly<Record<LearnedSource, number>> = {
  told: 30 * DAY_MS,
  measured: DAY_MS,
  guessed: DAY_MS,
};
/** Smallest relative change that is worth a write. */
const KEPT_CHANGE = 0.02;

export interface Lessons {
  /** Loads an earlier run's lessons. */
  load(): Promise<readonly LearnedModel[]>;
  keepWindow(model: string, window: LearnedWindow): void;
  keepFactor(model: string, factor: number): void;
  readonly onWindowLearned?: (model: string, window: LearnedWindow) => void;
  /** Called once for each model whose server silently cuts its requests. @param sent estimated tokens of one */
  readonly onSilentCut?: (model: string, window: number, sent: number) => void;
  readonly now: () => Date;
}

/**
 * The source of a model's window: set by the operator; stated by the server's listing, or by the Ollama that runs it;
 * learned from its refusals or its counts; the table of known models; or none.
 */
export type WindowSource = "configured" | "listed" | LearnedSource | "table" | "assumed";

/** A model's window and its source. */
export interface KnownWindow {
  readonly tokens: number;
  readonly source: WindowSource;
  /** When it expires; null: only a newer statement replaces it. */
  readonly until: Date | null;
  /** For an Ollama: tokens of the model's largest possible window, if larger. */
  readonly most?: number;
}

export type BelievedWindow = Pick<KnownWindow, "tokens"> & { readonly source: "listed" | "table" };

/** Nothing is loaded or stored. */
export const NO_LESSONS: Lessons = {
  load: async () => [],
  keepWindow: () => undefined,
  keepFactor: () => undefined,
  now: () => new Date(),
};

/** The known facts on models: configured, stated by the server, or learned from refusals and reports. */
export abstract class KnownWindows {
  readonly #factors = new ModelFactors();
  readonly #keptFactors = new Map<string, number>();
  readonly #refused = new Map<string, LearnedWindow>();
  readonly #observed = new Map<string, Observed>();
  #configured: readonly ModelConfig[];
  readonly #lessons: Lessons;

  constructor(configured: readonly ModelConfig[], lessons: Lessons) {
    this.#configured = configured;
    this.#lessons = lessons;
  }

  configure(models: readonly ModelConfig[]): void {
    this.#configured = models;
  }

  async recallLearned(): Promise<readonly LearnedModel[]> {
    const known = await this.#lessons.load();
    for (const { model, window, factor } of known) {
      if (window !== null) this.#refused.set(model, window);
      if (factor === null) continue;
      this.#factors.set(model, factor);
      this.#keptFactors.set(model, this.#factors.of(model));
    }
    return known.map((one) => ({ ...one, window: this.#refusalOf(one.model) ?? null }));
  }

  windowOf(model: string, configured: number): number {
    return this.knownWindow(model, configured).tokens;
  }

  knownWindow(model: string, configured: number): KnownWindow {
    const limit = this.#limitOf(model);
    const said = configuredWindow(this.#configured, model, configured);
    if (said > 0 && said <= (limit?.tokens ?? Infinity))
      return { tokens: said, source: "configured", until: null };
    const believed = limit ?? this.believedWindow(model) ?? { tokens: UNKNOWN_WINDOW, source: "assumed" };
    return { until: null, ...believed };
  }

  learnWindow(model: string, tokens: number, source: LearnedSource = "told"): void {
    const before = this.#refusalOf(model)?.tokens ?? tokens;
    const at = this.#lessons.now();
    const window: LearnedWindow = {
      tokens: Math.max(MIN_WINDOW, Math.min(tokens, before)),
      source,
      configured: configuredWindow(this.#configured, model, 0),
      at,
      until: new Date(at.getTime() + BELIEVED_MS[source]),
    };
    this.#refused.set(model, window);
    this.#lessons.keepWindow(model, window);
    notify(this.#lessons.onWindowLearned, model, window);
  }

  evidenceOf(model: string): WindowEvidence {
    const observed = this.#observedOf(model);
    const factors = this.#factors;
    return {
      get factor() {
        return factors.of(model);
      },
      get answered() {
        return observed.answered;
      },
      get suspicion() {
        return observed.suspicion;
      },
      suspect: (suspicion) => {
        observed.suspicion = suspicion;
      },
      learn: (tokens, source) => {
        observed.suspicion = null;
        if (tokens < (this.#limitOf(model)?.tokens ?? Infinity)) this.learnWindow(model, tokens, source);
      },
      noteAnswer: (request, usage) => this.#noteAnswer(model, request, usage),
    };
  }

  #noteAnswer(model: string, request: SentSize, usage: TokenUsage | undefined): void {
    const observed = this.#observedOf(model);
    const { estimated } = request;
    observed.answered = Math.max(observed.answered, estimated);
    if (usage === undefined) return;
    const reading = readingOf(request, usage, this.factorOf(model));
    const before = observed.readings.at(-1);
    if (reading !== null) observed.readings = [...observed.readings.slice(1 - READINGS), reading];
    const cut = silentCut(observed.readings, this.factorOf(model), observed.most);
    if (cut !== null) {
      this.#learnCut(model, cut, estimated);
      return;
    }
    // A constant count may be a silent cut: it says nothing about the size of a token.
    const mayBeCut = before?.reported === usage.promptTokens && estimated > before.estimated;
    if (request.teachesFactor && !mayBeCut)
      this.learnFactor(model, { estimated, reported: usage.promptTokens });
  }

  #learnCut(model: string, window: number, sent: number): void {
    const observed = this.#observedOf(model);
    observed.readings = [];
    // At most this many were answered, whatever was sent.
    observed.answered = Math.min(observed.answered, window);
    if (window >= this.windowOf(model, 0)) return;
    this.learnWindow(model, window, "measured");
    if (observed.isCutTold) return;
    observed.isCutTold = true;
    notify(this.#lessons.onSilentCut, model, window, sent);
  }

  #observedOf(model: string): Observed {
    const observed = this.#observed.get(model) ?? {
      answered: 0,
      most: 0,
      readings: [],
      suspicion: null,
      isCutTold: false,
    };
    this.#observed.set(model, observed);
    return observed;
  }

  factorOf(model: string): number {
    return this.#factors.of(model);
  }

  learnFactor(model: string, report: Anchor): void {
    this.#factors.learn(model, report);
    this.#keepFactor(model);
    const observed = this.#observedOf(model);
    if (!isTelling(report) || report.reported <= observed.most) return;
    observed.most = report.reported;
    this.#correctRefusal(model, report.reported);
  }

  seesImages(model: string): boolean {
    return this.saidOf(model)?.seesImages ?? true;
  }

  priceOf(model: string): ModelPrice | undefined {
    return configuredPrice(this.#configured, model) ?? this.believedPrice(model);
  }

  /** Longest answer to ask of a model, in tokens, within an agent's limit. */
  protected outputOf(model: string, wanted: number): number {
    return Math.min(wanted, this.saidOf(model)?.maxOutputTokens || wanted);
  }

  /** The table of a model in `[models]`. */
  protected saidOf(model: string): ModelConfig | undefined {
    return this.#configured.find(({ name }) => name === model);
  }

  protected abstract believedWindow(model: string): BelievedWindow | undefined;

  protected abstract runningWindow(model: string): RunningWindow | undefined;

  protected abstract believedPrice(model: string): ModelPrice | undefined;

  #limitOf(model: string): (Omit<KnownWindow, "until"> & Partial<Pick<KnownWindow, "until">>) | undefined {
    const running = this.runningWindow(model);
    const refused = this.#refusalOf(model);
    // The number in a refusal may be wrong; an answered prompt has fitted.
    const learned = refused && Math.max(refused.tokens, this.#observedOf(model).most);
    if (running !== undefined && running.tokens <= (learned ?? Infinity)) {
      const { tokens, most } = running;
      return { tokens, source: "listed", ...(most > tokens && { most }) };
    }
    if (refused === undefined || learned === undefined) return undefined;
    return { tokens: learned, source: refused.source, until: refused.until };
  }

  /** The refusal that is still valid: the newest statement counts, the operator's or the server's. */
  #refusalOf(model: string): LearnedWindow | undefined {
    const refused = this.#refused.get(model);
    if (refused === undefined) return undefined;
    const said = configuredWindow(this.#configured, model, 0);
    if (said > refused.tokens && said !== refused.configured) return undefined;
    return this.#lessons.now() < refused.until ? refused : undefined;
  }

  /** Raises a stored refusal that is smaller than an answered request. */
  #correctRefusal(model: string, answered: number): void {
    const refused = this.#refusalOf(model);
    if (refused === undefined || answered <= refused.tokens * (1 + KEPT_CHANGE)) return;
    const window = { ...refused, tokens: answered };
    this.#refused.set(model, window);
    this.#lessons.keepWindow(model, window);
  }

  #keepFactor(model: string): void {
    const factor = this.#factors.of(model);
    const kept = this.#keptFactors.get(model) ?? UNCALIBRATED.factor;
    if (Math.abs(factor - kept) <= kept * KEPT_CHANGE) return;
    this.#keptFactors.set(model, factor);
    this.#lessons.keepFactor(model, factor);
  }
}

/** Observations of a model since the start. */
interface Observed {
  /** Estimated tokens of the largest answered request. */
  answered: number;
  /** Tokens of the largest answered request, by its provider's count. */
  most: number;
  readings: readonly Anchor[];
  suspicion: Suspicion | null;
  isCutTold: boolean;
}

/** Real tokens per estimated token, by model. All channels share it. */
export class ModelFactors {
  readonly #factors = new Map<string, number>();

  of(model: string): number {
    return this.#factors.get(model) ?? UNCALIBRATED.factor;
  }

  learn(model: string, report: Anchor): void {
    this.#factors.set(model, nextFactor(this.of(model), report));
  }

  /** Takes over an earlier run's factor, within the bounds of learning. */
  set(model: string, factor: number): void {
    this.#factors.set(model, Math.min(MAX_FACTOR, Math.max(MIN_FACTOR, factor)));
  }
}
