import type { Logger } from "pino";
import type { ConfigurationState } from "../admin/reports/daemon-status.ts";
import type { ReloadAnswer, Reloaded } from "../admin/requests/reload-answer.ts";
import { ConfigError } from "../config/config-error.ts";
import type { Config } from "../config/config.ts";
import { HeldBackError } from "../config/held-back.ts";
import { FileWatch } from "../config/file-watch.ts";
import { errorMessage, OperatorError } from "../core/errors.ts";
import { isOfInfrastructure } from "../store/database/errors.ts";
import { PromptError } from "../prompts/load.ts";
import { Reloading, type ReloadParts } from "./reload.ts";
import type { Binding } from "../router/bindings.ts";

export interface ConfigurationSource {
  /**
   * @param isForced accepts files that may be half of a change
   * @throws OperatorError that lists all errors; HeldBackError if it may be half of a change
   */
  read(isForced: boolean): Config;
  /** The problems that config.toml would have with this text, each with its line; null: none. Nothing is changed. */
  check(text: string): string | null;
  /** Called when the configuration that was read last is in force. Must not throw. */
  onTaken(): void;
  /** @throws OperatorError if no agent could answer by it */
  bindingsOf(config: Config): readonly Binding[];
  /** Absolute paths of all files of the configuration; they need not exist. */
  pathsOf(config: Config): readonly string[];
  /** Called with each configuration that is put in force. Must not throw. */
  onConfigured(config: Config): void;
}

export interface ReloaderParts {
  readonly source: ConfigurationSource;
  readonly reloading: Reloading;
  readonly config: () => Config;
  readonly log: Logger;
}

/**
 * Reads the configuration again when its files change, or on request. An invalid one is refused with its errors: the last valid one
 * stays in force, and the state shows that until it is fixed. The same holds for one that may be half of a change.
 */
export class Reloader implements AsyncDisposable {
  readonly #parts: ReloaderParts;
  readonly #watch: FileWatch;
  #state: ConfigurationState = { reloadedAt: null, atStart: [], refused: null };
  #problems: string | null = null;
  /** The changes of the last effective reload, at `reloadedAt`. */
  #last: Pick<Reloaded, "live" | "prompts"> = { live: [], prompts: false };
  readonly #started = Promise.withResolvers<void>();
  #working: Promise<unknown> = this.#started.promise;
  #isClosed = false;

  constructor(parts: ReloaderParts) {
    this.#parts = parts;
    this.#watch = new FileWatch({
      paths: () => parts.source.pathsOf(parts.config()),
      onChange: () => void this.reload(),
    });
  }

  get state(): ConfigurationState {
    return this.#state;
  }

  get problems(): string | null {
    return this.#problems;
  }

  /** Starts to watch the files; a change since the configuration was read counts, too. */
  start(): void {
    this.#started.resolve();
    this.#watch.start(false);
  }

  /**
   * Reads the configuration again, and puts it in force. One at a time, and none before the start is over. Never rejects.
   * @param isForced accepts files that may be half of a change
   */
  async reload(isForced = false): Promise<ReloadAnswer> {
    const answer = this.#working.then(async () => this.#reload(isForced));
    this.#working = answer;
    return answer;
  }

  /** Resolves when all earlier setups have ended. Close the registry first: otherwise it may take as long as a compaction. */
  async idle(): Promise<void> {
    await this.#parts.reloading.idle();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#watch[Symbol.dispose]();
    this.#started.resolve();
    await this.#working;
  }

  async #reload(isForced: boolean): Promise<ReloadAnswer> {
    const { source, reloading } = this.#parts;
    if (this.#isClosed) return ENDS;
    try {
      const { live, atStart, prompts } = await reloading.put(source.read(isForced));
      source.onTaken();
      return this.#loaded({ kind: "reloaded", live: [...live], atStart: [...atStart], prompts });
    } catch (error) {
      // The same file may be valid once the database answers again.
      const isHeld = error instanceof HeldBackError;
      if (isOfInfrastructure(error) || (isHeld && error.endsUnseen)) this.#watch.again();
      return this.#refused(error);
    }
  }

  #loaded(answer: Reloaded): ReloadAnswer {
    const { log } = this.#parts;
    const { live, atStart, prompts } = answer;
    const { refused, atStart: before } = this.#state;
    const isNews = live.length > 0 || prompts;
    const now = new Date();
    const { reloadedAt } = this.#state;
    if (isNews) this.#last = { live, prompts };
    this.#state = { reloadedAt: isNews ? now : reloadedAt, atStart, refused: null };
    this.#problems = null;
    if (refused !== null) log.info("configuration_mended");
    if (isNews) log.info({ changed: live, ...(prompts && { prompts }) }, "configuration_reloaded");
    if (atStart.length > 0 && atStart.join() !== before.join())
      log.warn({ keys: atStart }, "configuration_waits: takes effect at the next start");
    if (isNews || reloadedAt === null) return answer;
    return { ...answer, last: { ...this.#last, agoMs: Math.max(0, now.getTime() - reloadedAt.getTime()) } };
  }

  #refused(error: unknown): ReloadAnswer {
    const { log } = this.#parts;
    const problems =
      error instanceof OperatorError ? error.message : `It could not be read: ${errorMessage(error)}`;
    const [first, count] = firstProblem(error);
    const before = this.#state.refused;
    const since = before?.since ?? new Date();
    const isHeld = error instanceof HeldBackError;
    this.#state = { ...this.#state, refused: { since, first, count, isHeld } };
    this.#problems = problems;
    if (before?.first === first && before.count === count) return { kind: "refused", problems };
    if (isHeld) log.warn({ why: problems }, "configuration_held_back: the one before stays in force");
    else log.error({ problems }, "configuration_refused: the one before stays in force");
    return { kind: "refused", problems };
  }
}

/** The first problem on one line, and the number of problems. Contains no secret. */
function firstProblem(error: unknown): [first: string, count: number] {
  if (error instanceof ConfigError) return [error.first, error.problems.length];
  if (error instanceof PromptError) return [error.problems[0] ?? error.message, error.problems.length];
  return [errorMessage(error).split("\n", 1)[0] ?? "", 1];
}

/** The answer of a daemon without a source of configurations. */
export const NOT_RELOADED: ReloadAnswer = {
  kind: "refused",
  problems: "This Weir reads its configuration once, at its start.",
};

const ENDS: ReloadAnswer = {
  kind: "refused",
  problems: "This Weir ends: its next start reads the configuration.",
};

/** @returns undefined: there is no source of configurations */
export function openReloader(
  source: ConfigurationSource | undefined,
  parts: Omit<ReloadParts, "bindingsOf" | "onConfigured">,
): Reloader | undefined {
  if (source === undefined) return undefined;
  const reloading = new Reloading({
    ...parts,
    bindingsOf: (config) => source.bindingsOf(config),
    onConfigured: (config) => source.onConfigured(config),
  });
  return new Reloader({ source, reloading, config: () => parts.current.setup.config, log: parts.log });
}
