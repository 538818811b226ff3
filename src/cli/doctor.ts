import { performance } from "node:perf_hooks";
import type { Config } from "../config/config.ts";
import type { ConfigError } from "../config/config-error.ts";
import { loadReadableConfig } from "../config/load.ts";
import { whyOff } from "../config/describe-config.ts";
import { errorMessage, type Finding, OperatorError } from "../core/errors.ts";
import { PLATFORM_ROWS } from "../platforms/platforms.ts";
import { loadPrompts, promptSources } from "../prompts/load.ts";
import { FEATURE_ROWS } from "../features/stored.ts";
import { NotMigratedError } from "../store/database/migrate.ts";
import type { Database } from "../store/database/database.ts";
import { fileSigner, signingKeyFile } from "../store/database/signing-key.ts";
import { isPresent, MemberStore } from "../store/channels/members.ts";
import { describeOwnKey } from "../admin/reports/signing-keys.ts";
import { createStore, type Store } from "../store/store.ts";
import { assertUsableByDaemon, openDatabase } from "../store/database/open.ts";
import { examineFeatures } from "../features/features.ts";
import { displayableLine } from "../text/displayable.ts";
import { counted } from "../text/text.ts";
import { formatNumber } from "../text/format.ts";
import { databaseRemedy, lookAtFolder, lookAtHttp, lookAtProxies } from "./doctor/look-at-machine.ts";
import { lookAtModels } from "./doctor/look-at-models.ts";
import { lookAtServers } from "./shared/mcp-servers.ts";
import { lookAtNames } from "./doctor/names.ts";
import { type CommonOptions, type Io, say } from "./shared/io.ts";
import { onlyLooking, openLog } from "./shared/open.ts";
import { placeOf } from "./shared/readable-config.ts";
import { weirCommand } from "../files/installation.ts";

/** How long one look may take, ms. */
const PATIENCE_MS = 20_000;
const SIGNS = { ok: "✓", wrong: "✗", unsure: "?", off: "–" } as const;

interface DoctorOptions extends CommonOptions {
  /** False: no model is asked. Default: each does what its agents will want of it. */
  readonly models?: boolean;
  /** Whether to measure how much of a request each model reads. */
  readonly window?: boolean;
}

/**
 * `weir doctor`: checks everything that an operator can get wrong, and reports each result and its remedy at once.
 * @throws OperatorError if something is wrong, after all reports
 */
export async function doctor(io: Io, options: DoctorOptions): Promise<void> {
  let wrong = 0;
  const tell = (finding: Finding): void => {
    if (finding.state === "wrong") wrong += 1;
    say(io, shownFinding(finding));
  };
  const { config, error: broken } = loadReadableConfig(placeOf(io, options));
  for (const finding of [lookAtConfig(config, broken), ...lookAtPrompts(config)]) tell(finding);
  for (const [what, look] of looks(io, config, options))
    // A failed check must not hide the next one.
    for (const finding of await look().catch((error: unknown) => [failure(what, error)])) tell(finding);
  if (wrong > 0)
    throw new OperatorError(`${wrong} of these must be mended before Weir can work as configured.`);
}

/** An invalid configuration is one finding; the checks continue with its readable part. */
function lookAtConfig({ file, home }: Config, broken: ConfigError | null): Finding {
  const what = "configuration";
  if (broken === null)
    return { what, state: "ok", detail: `${file ?? "no file: built-in defaults"}; home ${home}` };
  const detail = `${counted(broken.problems.length, "problem")}; first ${broken.first}`;
  return {
    what,
    state: "wrong",
    detail,
    todo: `\`${weirCommand("config check")}\` shows all; what follows is by what can be read`,
  };
}

function lookAtPrompts(config: Config): readonly Finding[] {
  try {
    loadPrompts(promptSources(config));
    return [];
  } catch (error) {
    return [{ what: "prompts", state: "wrong", detail: displayableLine(errorMessage(error)) }];
  }
}

function looks(
  io: Io,
  config: Config,
  options: DoctorOptions,
): readonly (readonly [string, () => Promise<readonly Finding[]>])[] {
  return [
    ["database", async () => lookAtDatabase(io, config)],
    ["data folder", async () => lookAtFolder(config)],
    ["HTTP", async () => lookAtHttp(config)],
    ["proxy", async () => lookAtProxies(config)],
    ["models", async () => lookAtWork(io, config, options)],
    ["embeddings", async () => [await lookAtEmbeddings(io, config)]],
    ["transcription", async () => [await lookAtTranscription(config)]],
    ["MCP servers", async () => lookAtServers(io, config)],
    ...PLATFORM_ROWS.map((row) => [row.title, async () => lookAtPlatform(row, config)] as const),
    ["names", async () => lookAtNames(io, config)],
  ];
}

/** A finding for a person, with what to do about it on a line of its own. Pure. */
export function shownFinding({ state, what, detail, todo }: Finding): string {
  return `${SIGNS[state]} ${what}: ${detail}${todo === undefined ? "" : `\n    → ${todo}`}`;
}

function failure(what: string, error: unknown): Finding {
  return { what, state: "wrong", detail: errorMessage(error) };
}

async function lookAtPlatform(
  row: (typeof PLATFORM_ROWS)[number],
  { platforms }: Config,
): Promise<readonly Finding[]> {
  const config = platforms[row.key];
  return config === null ? [{ what: row.title, state: "off", detail: whyOff(row) }] : row.diagnose(config);
}

async function lookAtDatabase(io: Io, config: Config): Promise<readonly Finding[]> {
  const what = "database";
  const startedAt = performance.now();
  const log = openLog(io, config, "silent");
  try {
    await assertUsableByDaemon(config.database, log);
    await using opened = await openDatabase(config.database, log, "reader");
    const ms = Math.round(performance.now() - startedAt);
    const detail = `${opened.where} answers and is up to date (${ms} ms)`;
    const signer = fileSigner(config.database.dataDir);
    const store = createStore(opened.database, FEATURE_ROWS, { signer });
    return [
      { what, state: "ok", detail },
      ...(await lookAtKey(config, opened.database)),
      ...(await examineFeatures(opened.database, signer)),
      ...(await lookAtFingerprints(store)),
    ];
  } catch (error) {
    // The first start, or the next one, mends it.
    if (error instanceof NotMigratedError) return [{ what, state: "unsure", detail: errorMessage(error) }];
    // It says itself what to do.
    if (error instanceof OperatorError) return [{ what, state: "wrong", detail: errorMessage(error) }];
    const detail = errorMessage(error);
    return [{ what, state: "wrong", detail, todo: databaseRemedy(detail, config.database) }];
  }
}

/** Checks whether the daemons of a cluster sign with the same key as this one. */
async function lookAtKey(config: Config, database: Database): Promise<readonly Finding[]> {
  const { cluster, database: files } = config;
  if (cluster === null) return [];
  const what = "signing key";
  const own = await fileSigner(files.dataDir).keyId();
  const others = await new MemberStore(database).all();
  const problem = describeOwnKey(own, others, signingKeyFile(files.dataDir));
  if (problem !== null) return [{ what, state: "wrong", ...problem }];
  const isShared = others.some((member) => isPresent(member) && member.keyId === own);
  return own === null || !isShared
    ? []
    : [{ what, state: "ok", detail: "the daemons that are there have the same" }];
}

/** Checks whether a deletion can still find texts that are derived from texts no longer stored. */
async function lookAtFingerprints({ retention }: Pick<Store, "retention">): Promise<readonly Finding[]> {
  const strange = await retention.countStrange();
  if (strange === 0) return [];
  const detail =
    `of ${counted(strange, "message")} whose text is no longer kept nobody can say what they told: ` +
    "their fingerprints were made with another signing.key";
  const todo =
    "bring back the signing.key of then: without it, deleting one of them takes all that may tell of it, also whole summaries";
  return [{ what: "fingerprints", state: "wrong", detail, todo }];
}

/** Has each model do its agents' work once, unless the operator does not want to pay for that. */
async function lookAtWork(
  io: Io,
  config: Config,
  { models = true, window = false }: DoctorOptions,
): Promise<readonly Finding[]> {
  if (!models) return [{ what: "models", state: "off", detail: "not asked: --no-models" }];
  // A daemon's knowledge of them, if the database can be read.
  const opening = openDatabase(config.database, openLog(io, config, "silent"), "reader");
  await using opened = await opening.catch(() => null);
  const learned = opened === null ? undefined : onlyLooking(createStore(opened.database, FEATURE_ROWS));
  return await lookAtModels(io, config, window ? "window" : "work", (text) => say(io, `· ${text}`), learned);
}

/** Asks for one vector, and reports how many texts have theirs, if the database can be read. */
async function lookAtEmbeddings(io: Io, config: Config): Promise<Finding> {
  const what = "embeddings";
  const { embeddings } = config.llm;
  if (embeddings === null) return { what, state: "off", detail: "off: llm.embeddings.model is not set" };
  const startedAt = performance.now();
  try {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const [{ createEmbeddings }, { WITHIN_MS }] = await Promise.all([
      import("../llm/embeddings.ts"),
      import("../memory/meaning.ts"),
    ]);
    const server = createEmbeddings(embeddings);
    const { model, origin } = server;
    const { vectors } = await server.embed(["ping"], signal);
    const [vector = []] = vectors;
    const ms = Math.round(performance.now() - startedAt);
    const progress = await vectorProgress(io, config, model).catch(() => "");
    const late = ms > WITHIN_MS ? ", which is too slow for a turn: it recalls without them" : "";
    const answers = `${model} at ${origin} answers (${ms} ms${late}) with ${vector.length} numbers a text`;
    return { what, state: "ok", detail: answers + progress };
  } catch (error) {
    const todo = "see [llm.embeddings]: model, base_url, EMBEDDINGS_API_KEY and dimensions";
    return { what, state: "wrong", detail: errorMessage(error), todo };
  }
}

/** Has a second of silence transcribed. */
async function lookAtTranscription(config: Config): Promise<Finding> {
  const what = "transcription";
  const { transcription } = config.llm;
  if (transcription === null)
    return { what, state: "off", detail: "off: llm.transcription.model is not set" };
  const startedAt = performance.now();
  try {
    const { createTranscription } = await import("../llm/transcription.ts");
    const server = createTranscription(transcription);
    const { model, origin } = server;
    const sound = { name: "silence.wav", type: "audio/wav", bytes: silence() };
    await server.transcribe(sound, AbortSignal.timeout(PATIENCE_MS));
    const ms = Math.round(performance.now() - startedAt);
    return { what, state: "ok", detail: `${model} at ${origin} answers (${ms} ms)` };
  } catch (error) {
    const todo = "see [llm.transcription]: model, base_url and TRANSCRIPTION_API_KEY";
    return { what, state: "wrong", detail: errorMessage(error), todo };
  }
}

/** A second of silence, as WAV of 8,000 samples. */
function silence(): Uint8Array {
  const samples = 8000;
  const head = Buffer.alloc(44);
  head.write("RIFF", 0, "ascii");
  head.writeUInt32LE(36 + samples * 2, 4);
  head.write("WAVEfmt ", 8, "ascii");
  head.writeUInt32LE(16, 16);
  // PCM, one channel.
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(samples, 24);
  head.writeUInt32LE(samples * 2, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write("data", 36, "ascii");
  head.writeUInt32LE(samples * 2, 40);
  return Buffer.concat([head, Buffer.alloc(samples * 2)]);
}

async function vectorProgress(io: Io, config: Config, model: string): Promise<string> {
  await using opened = await openDatabase(config.database, openLog(io, config, "silent"), "reader");
  const { kept, waiting } = await createStore(opened.database, FEATURE_ROWS).vectors.progress(model);
  return `; ${formatNumber(kept)} texts have a vector, ${formatNumber(waiting)} entries are still to be looked at`;
}
