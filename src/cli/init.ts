import { existsSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { findHome, loadConfig } from "../config/load.ts";
import { secretVariable } from "../config/references.ts";
import type { Config } from "../config/config.ts";
import { type Finding, OperatorError } from "../core/errors.ts";
import { weirCommand } from "../files/installation.ts";
import { OLLAMA_ORIGIN, probeOllama } from "../llm/catalog/ollama.ts";
import { useProxies } from "../network/use-proxies.ts";
import { type ChatPlatform, PLATFORM_ROWS } from "../platforms/platforms.ts";
import { shownFinding } from "./doctor.ts";
import { lookAtModels } from "./doctor/look-at-models.ts";
import { homeCommand } from "../config/home.ts";
import { type CommonOptions, type Io, say } from "./shared/io.ts";
import { placeAt } from "./shared/readable-config.ts";
import { type Folder, makeHome, type Setting, type Settings, writeSettings } from "./init/files.ts";
import { type Choice, openQuestions, type Questions } from "./init/questions.ts";

const PROBE_MS = 1500;

/**
 * `weir init`: asks what a first start needs, checks each answer, and writes it into `.env` and `config.toml`.
 * @throws OperatorError without a terminal; Cancelled at Ctrl-C. Nothing is written then
 */
export async function init(io: Io, options: InitOptions): Promise<void> {
  const home = findHome(io.cwd, options.home);
  const place = placeAt(io, options, home);
  const command = (words: string): string => homeCommand(home, words);
  // A folder with a configuration has all that is needed.
  const newHome = home.by === "this folder" ? undefined : place.home;
  const folder: Site = { ...place, file: place.file, newHome, command };
  if (options.questions === false) {
    const made = makeHome(place.home ?? io.cwd);
    return say(io, [...made.map((file) => `${file} is written.`), nextSteps(folder, [])].join("\n"));
  }
  if (!io.stdin.isTTY || !io.stdout.isTTY)
    throw new OperatorError(
      `Setting up asks questions, and this is no terminal. ${command("init --no-questions")} makes the files without ` +
        `questions: put tokens and keys into .env and the rest into config.toml, then run: ${command("doctor")}`,
    );
  await setUp(await openQuestions(), folder);
}

interface InitOptions extends CommonOptions {
  /** False: only the home is made. */
  readonly questions?: boolean;
}

/** Where is set up, and how Weir is run there. */
interface Site extends Folder {
  /** Absolute path of the home to make. Default: it is there. */
  readonly newHome?: string | undefined;
  /** The command line that runs `weir` with these words. Default: the one without `--home`. */
  readonly command?: (words: string) => string;
}

/**
 * The same with any source of answers.
 * @throws Cancelled where they end; OperatorError if a file cannot be changed
 */
export async function setUp(questions: Questions, folder: Site): Promise<void> {
  const found: Settings = { variables: {}, keys: [] };
  const isNew = folder.file !== undefined && !existsSync(path.resolve(folder.cwd, folder.file));
  if (isNew)
    throw new OperatorError(`There is no ${folder.file}. Make an empty file, or leave --config out.`);
  // Errors of the present configuration are reported before the first question.
  const before = loadConfig(folder);
  useProxies(before.proxies);
  let settings = await askModel(questions, folder, before, found);
  const chats = await questions.several<ChatPlatform>(
    "Where do people chat with it? (the terminal is always there)",
    PLATFORM_ROWS.map(({ key, title }) => ({
      value: key,
      label: title,
      ...(before.platforms[key] !== null && { hint: "set up already" }),
    })),
  );
  for (const row of PLATFORM_ROWS)
    if (chats.includes(row.key)) settings = await askChat(questions, folder, row, settings);
  await finish(questions, folder, settings, chats);
}

async function finish(
  questions: Questions,
  folder: Site,
  settings: Settings,
  chats: readonly ChatPlatform[],
): Promise<void> {
  const names = [
    ...Object.keys(settings.variables).map((name) => `${name} in .env`),
    ...settings.keys.map(({ table, key, value }) => `${key} = ${value} under [${table}] in config.toml`),
  ];
  if (names.length === 0) questions.say("There is nothing to write.");
  else {
    questions.say(
      `To be written, everything else stays as it is:\n${names.map((name) => `  ${name}`).join("\n")}`,
    );
    if (!(await questions.confirm("Write it?"))) return questions.say("Nothing was written.");
    const { newHome } = folder;
    const made = newHome === undefined ? [] : makeHome(newHome);
    for (const file of new Set([...made, ...writeSettings(folder, settings)]))
      questions.say(`${file} is written.`);
  }
  questions.say(nextSteps(folder, chats));
}

function nextSteps({ command = weirCommand }: Site, chats: readonly ChatPlatform[]): string {
  const steps: (readonly [string, string])[] = [
    ...chats.map((chat) => [command(`invite ${chat}`), "brings the bot in, where it is not yet"] as const),
    [command("doctor"), "checks all of it"],
    [command("start"), "runs it"],
  ];
  const width = Math.max(...steps.map(([typed]) => typed.length));
  return ["Next:", ...steps.map(([typed, does]) => `  ${typed.padEnd(width)}  ${does}`)].join("\n");
}

type ModelChoice = "keep" | "openai" | "anthropic" | "own" | "server" | "ollama" | "none";

async function askModel(
  questions: Questions,
  folder: Folder,
  before: Config,
  settings: Settings,
): Promise<Settings> {
  const { baseUrl, apiKey, servers } = before.llm;
  const isSet = baseUrl !== null || apiKey !== null || servers.length > 0;
  const models = await questions.during("Looking for an Ollama", async () =>
    probeOllama(OLLAMA_ORIGIN, PROBE_MS),
  );
  const choices: Choice<ModelChoice>[] = [
    ...(isSet ? [{ value: "keep" as const, label: "The server and key that are set already" }] : []),
    ...(models === undefined || models.length === 0
      ? []
      : [{ value: "ollama" as const, label: "The Ollama here", hint: models.slice(0, 3).join(", ") }]),
    { value: "openai", label: "OpenAI, with a key" },
    { value: "anthropic", label: "Anthropic, with a key" },
    { value: "own", label: "A server of your own, without a key", hint: "llama.cpp, vLLM, LM Studio, …" },
    { value: "server", label: "Another OpenAI-compatible server, with a key", hint: "OpenRouter, …" },
    { value: "none", label: "None yet", hint: "a built-in stand-in answers, and only quotes" },
  ];
  for (;;) {
    const choice = await questions.one("Which model answers?", choices);
    if (choice === "none") return settings;
    const variables = await modelVariables(questions, choice, before.llm);
    const model = await modelName(questions, choice);
    const keys = [
      ...(choice === "anthropic" ? ANTHROPIC_KEYS : []),
      ...(model === "" ? [] : [{ table: "defaults", key: "model", value: JSON.stringify(model) }]),
    ];
    const tried = { variables: { ...settings.variables, ...variables }, keys: [...settings.keys, ...keys] };
    const agents = (config: Config): Config["agents"] =>
      model === ""
        ? config.agents
        : config.agents.map((one) => ({ ...one, model, compactorModel: model, fallbacks: [] }));
    const look = async (config: Config): Promise<readonly Finding[]> => {
      const llm = choice === "anthropic" ? withAnthropic(config.llm, variables) : config.llm;
      return lookAtModels(process, { ...config, llm, agents: agents(config) });
    };
    const verdict = await check(questions, folder, tried, "Asking the model for a word", look);
    if (verdict === "kept") return tried;
    if (verdict === "left") return settings;
  }
}

/** @returns "": the configuration's own */
async function modelName(questions: Questions, choice: ModelChoice): Promise<string> {
  const question = "Which model? (empty: what the server offers first)";
  switch (choice) {
    case "openai":
      return questions.text(question, "gpt-…", noControls);
    case "anthropic":
      return `${ANTHROPIC}/${(await questions.text(question, "claude-…", noControls)) || "auto"}`;
    default:
      return "";
  }
}

/** The server's name in the configuration, and its address. */
const ANTHROPIC = "claude";
const ANTHROPIC_URL = "https://api.anthropic.com";
const ANTHROPIC_KEYS: readonly Setting[] = [
  { table: `llm.servers.${ANTHROPIC}`, key: "base_url", value: JSON.stringify(ANTHROPIC_URL) },
  { table: `llm.servers.${ANTHROPIC}`, key: "api_key", value: '"env:ANTHROPIC_API_KEY"' },
];

/** As the configuration is once this is written. */
function withAnthropic(llm: Config["llm"], variables: Settings["variables"]): Config["llm"] {
  const apiKey = variables["ANTHROPIC_API_KEY"] ?? null;
  const server = { name: ANTHROPIC, baseUrl: ANTHROPIC_URL, apiKey, api: "auto" as const, headers: {} };
  return { ...llm, servers: [...llm.servers.filter(({ name }) => name !== ANTHROPIC), server] };
}

/** A server and its key are set together, or the key of one would be sent to another: what a choice does not have is emptied. */
async function modelVariables(
  questions: Questions,
  choice: ModelChoice,
  { baseUrl, apiKey }: Pick<Config["llm"], "baseUrl" | "apiKey">,
): Promise<Record<string, string>> {
  const noServer = baseUrl === null ? {} : { OPENAI_BASE_URL: "" };
  const noKey = apiKey === null ? {} : { OPENAI_API_KEY: "" };
  switch (choice) {
    case "keep":
    case "none":
      return {};
    case "ollama":
      // Ollama is found by default if no other server is set.
      return baseUrl === null && apiKey === null ? {} : { OPENAI_BASE_URL: `${OLLAMA_ORIGIN}/v1`, ...noKey };
    case "openai":
      return { ...noServer, OPENAI_API_KEY: await questions.secret("The key, sk-…") };
    case "anthropic":
      return { ANTHROPIC_API_KEY: await questions.secret("The key, sk-ant-…") };
    case "own":
      return { OPENAI_BASE_URL: await serverAddress(questions), ...noKey };
    case "server": {
      const url = await serverAddress(questions);
      return { OPENAI_BASE_URL: url, OPENAI_API_KEY: await questions.secret("The key") };
    }
  }
}

async function serverAddress(questions: Questions): Promise<string> {
  return questions.text("Its address, with /v1 as a rule", "http://127.0.0.1:8000/v1", (answer) =>
    /^https?:$/.test(URL.parse(answer)?.protocol ?? "")
      ? undefined
      : "That is no http:// or https:// address.",
  );
}

async function askChat(
  questions: Questions,
  folder: Folder,
  row: (typeof PLATFORM_ROWS)[number],
  settings: Settings,
): Promise<Settings> {
  const { key: chat, title: name } = row;
  const { before, secrets, personHint, person } = row.questions;
  const current = loadConfig({ ...folder, more: settings.variables }).platforms[chat];
  questions.say(before);
  for (;;) {
    const isKept =
      current !== null && (await questions.confirm(`${name} has its tokens already. Keep them?`));
    const typed: Record<string, string> = {};
    if (!isKept)
      for (const { option, question } of secrets)
        typed[secretVariable(chat, option)] = await questions.secret(question);
    const tried = { ...settings, variables: { ...settings.variables, ...typed } };
    const look = async ({ platforms }: Config): Promise<readonly Finding[]> => {
      const config = platforms[chat];
      return config === null ? [] : notYetInvited(await row.diagnose(config));
    };
    const verdict = await check(questions, folder, tried, `Asking ${name}`, look);
    if (verdict === "again") continue;
    if (verdict === "left") return settings;
    const id = await questions.text(
      `Your own id on ${name}: owners need no code, and may change what holds for everybody (empty: later)`,
      personHint,
      (answer) =>
        answer === "" || person.test(answer)
          ? undefined
          : "That is no id of a person there: a name is not enough.",
    );
    const owners = current?.owners ?? [];
    if (id === "" || owners.includes(id)) return tried;
    const key = { table: `platforms.${chat}`, key: "owners", value: JSON.stringify([...owners, id]) };
    return { ...tried, keys: [...tried.keys, key] };
  }
}

/** After a first set-up the bot is in no server yet: that is reported, but is no mistake. */
function notYetInvited(findings: readonly Finding[]): Finding[] {
  return findings.map((one) =>
    one.isForInvite === true && one.state === "wrong" ? { ...one, state: "unsure" } : one,
  );
}

/** @returns `kept`: it works, or is wanted nevertheless; `again`: the questions are asked again; `left`: it is left out */
async function check(
  questions: Questions,
  folder: Folder,
  { variables }: Settings,
  what: string,
  look: (config: Config) => Promise<readonly Finding[]>,
): Promise<"kept" | "again" | "left"> {
  const findings = await questions.during(what, async () => {
    try {
      return await look(loadConfig({ ...folder, more: variables }));
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error;
      return [{ what: "configuration", state: "wrong" as const, detail: error.message }];
    }
  });
  questions.say(findings.map(shownFinding).join("\n"));
  if (findings.every(({ state }) => state !== "wrong")) return "kept";
  return questions.one("That does not work yet.", [
    { value: "again", label: "Answer again" },
    { value: "kept", label: "Write it all the same", hint: "and mend the rest later" },
    { value: "left", label: "Leave it out" },
  ]);
}

function noControls(answer: string): string | undefined {
  return /^[^\p{Cc}"\\]{0,200}$/u.test(answer) ? undefined : "That is no name of a model.";
}
