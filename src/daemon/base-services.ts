import { warnOfFeatures } from "../features/features.ts";
import { FEATURE_ROWS } from "../features/stored.ts";
import type { Logger } from "pino";
import { KnownSecrets } from "../admin/secrets.ts";
import { retryWrite } from "../async/retry.ts";
import type { Config } from "../config/config.ts";
import { errorMessage, OperatorError } from "../core/errors.ts";
import { openModels } from "../llm/model-provider.ts";
import type { Model } from "../llm/model.ts";
import type { Models } from "../llm/models.ts";
import type { Database } from "../store/database/database.ts";
import { type OpenDatabase, openDatabase } from "../store/database/open.ts";
import { createStore, type Store } from "../store/store.ts";
import {
  type CurrentSetup,
  makeSetup,
  readPrompts,
  type Setup,
  type SetupParts,
  sharedMemoriesOf,
} from "./setup.ts";
import { describeOwnKey, type KeyProblem } from "../admin/reports/signing-keys.ts";
import { type Member, MemberStore } from "../store/channels/members.ts";
import { fileSigner, type Signer, signingKeyFile } from "../store/database/signing-key.ts";

/** Number of retries: they cover a restart of the database during the start of up to 25 s. */
const START_RETRIES = 8;

/** Retries work of the start while the database is away. @throws the last error */
export async function whileStarting<Result>(work: () => Promise<Result>): Promise<Result> {
  return (await retryWrite(work, START_RETRIES)).result;
}

async function openStore(config: Config, database: Database, signer: Signer, log: Logger): Promise<Store> {
  const store = createStore(database, FEATURE_ROWS, { signer, log });
  if (!(await whileStarting(async () => store.search.knowsAllScripts())))
    log.warn("recall_ascii_only: make the database with LC_CTYPE C.UTF-8");
  await whileStarting(async () => store.sharedMemories.open(sharedMemoriesOf(config)));
  return store;
}

/** Opens the models; what they learn is stored in the database. */
async function openLearningModels(
  { config, log, standIn }: BaseOptions,
  { learnedModels, refusedFields }: Store,
): Promise<Models> {
  const onNotKept = (error: unknown): void => {
    log.warn({ why: errorMessage(error) }, "learned_model_not_kept");
  };
  const models = await openModels(config.llm, {
    learned: learnedModels,
    refusals: refusedFields,
    ...(standIn !== undefined && { standIn }),
    onNotKept,
    // An agent must not run without its tools.
    onRefused: (model, { field, value, status, code }) =>
      log[field === "tools" ? "warn" : "info"]({ model, field, value, status, code }, "field_refused"),
    onWindowLearned: (model, { tokens, source, until }) =>
      log.info({ model, tokens, source, until }, "window_learned"),
    onSilentCut: (model, tokens, sent) => log.warn({ model, tokens, sent }, "requests_cut_silently"),
    onSmallOllama: (model, tokens, most) => log.warn({ model, tokens, most }, "ollama_window_small"),
  });
  log.info({ models: models.describe() }, "models_open");
  return models;
}

/** Recalls learned window sizes, and starts the agents' servers without waiting for them. */
async function beginAgents({ agents }: Setup, models: Models, log: Logger): Promise<void> {
  // After the setup was made: a small learned window must not prevent the start.
  for (const { model, window } of await whileStarting(async () => models.recallLearned()))
    if (window !== null)
      log.info(
        { model, tokens: window.tokens, source: window.source, since: window.at, until: window.until },
        "learned_window",
      );
  // Last: a failed start leaves no server running.
  agents.startServers();
}

export interface BaseOptions extends Pick<Setup, "config" | "bindings"> {
  readonly log: Logger;
  /** Secrets that are masked in the log and in all output; a reload adds to them. Default: those of the configuration. */
  readonly secrets?: KnownSecrets;
  /** Ends the wait for an unreachable database at the start; default: no wait. */
  readonly waitUntil?: AbortSignal;
  /** See `OpenModelsOptions`. */
  readonly standIn?: Model;
}

/** The services on which all other parts of a daemon depend. */
export interface BaseServices extends SetupParts {
  readonly opened: OpenDatabase;
  readonly store: Store;
  readonly signer: Signer;
  readonly current: CurrentSetup;
}

/** Opens the database and the models, and makes the first setup. @throws OperatorError that says what the operator must change */
export async function openBaseServices(
  options: BaseOptions,
  stack: AsyncDisposableStack,
): Promise<BaseServices> {
  const { config, bindings, log } = options;
  const prompts = readPrompts(config, log);
  const { secrets = KnownSecrets.of(config) } = options;
  const opened = stack.use(await openDatabase(config.database, log, "owner", options.waitUntil));
  log.info({ where: opened.where }, "database_open");
  const signer = await whileStarting(async () => openSigner(config, opened.database, log));
  const store = await openStore(config, opened.database, signer, log);
  const models = stack.use(await openLearningModels(options, store));
  const made = { models, secrets, log };
  const current: CurrentSetup = { setup: await makeSetup({ config, bindings, prompts }, made) };
  warnOfFeatures(current.setup, log);
  stack.defer(async () => current.setup.agents[Symbol.asyncDispose]());
  await beginAgents(current.setup, models, log);
  return { ...made, opened, store, signer, current };
}

/**
 * Opens a daemon's signing key. A daemon of a cluster has its key from the start, so that it can be copied, but creates none if other
 * members have one: daemons with different keys would reject each other's signatures. Differing keys are logged.
 */
async function openSigner(
  { cluster, database: { dataDir } }: Pick<Config, "cluster" | "database">,
  database: Database,
  log: Logger,
): Promise<Signer> {
  if (cluster === null) return fileSigner(dataDir);
  const members = new MemberStore(database);
  const file = signingKeyFile(dataDir);
  // A row of an earlier run of this daemon may remain.
  const others = async (): Promise<Member[]> =>
    (await members.all()).filter(({ name }) => name !== cluster.name);
  const signer = fileSigner(dataDir, async () => {
    const problem = describeOwnKey(null, await others(), file);
    if (problem !== null) throw new OperatorError(inWords(problem));
  });
  try {
    await signer.open();
    const problem = describeOwnKey(await signer.keyId(), await others(), file);
    if (problem !== null) log.warn({ why: inWords(problem) }, "signing_key_differs");
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    log.warn({ why: errorMessage(error) }, "signing_key_missing");
  }
  return signer;
}

function inWords({ detail, todo }: KeyProblem): string {
  return `${detail}. What to do: ${todo}`;
}
