import { Argument, type Command, Option, InvalidArgumentError } from "commander";
import type { CommonOptions, Io } from "./shared/io.ts";
import { positiveNumber, type Shell, SHELLS, wholeNumber, withConfig } from "./shared/options.ts";
import { SEVERITIES } from "./audit/finding.ts";
import type { AuditOptions } from "./audit.ts";
import type { ReplayOptions } from "./replay.ts";
import type { ChatOptions } from "./chat.ts";
import type { DemoOptions } from "./demo.ts";
import { CHANNEL_ORDERS, LOG_LEVELS, USAGE_KEYS } from "../core/listings.ts";
import type { ChannelsOptions } from "./channels.ts";
import type { ClusterOptions, DrainOptions } from "./cluster.ts";
import type { LogsOptions } from "./logs.ts";
import type { ModelsOptions } from "./models.ts";
import type { OpenOptions } from "./open.ts";
import type { ReloadOptions } from "./reload.ts";
import type { StatusOptions } from "./status.ts";
import type { UsageOptions } from "./usage.ts";
import type { CompactOptions } from "./compact.ts";
import type { CompactionsOptions } from "./compactions.ts";
import type { ContextOptions } from "./context.ts";
import type { LogOptions } from "./log.ts";
import type { TuneOptions } from "./tune.ts";
import type { ForgetUserOptions } from "./forget-user.ts";
import type { MemoriesOptions } from "./memories.ts";
import type { ExportOptions } from "./memory-transfer.ts";
import type { PairOptions } from "./pair.ts";
import type { BackupOptions } from "./backup.ts";
import type { InitOptions } from "./init.ts";
import type { UpgradeOptions } from "./upgrade.ts";
import type { DoctorOptions } from "./doctor.ts";
import type { MigrateOptions } from "./migrate.ts";

/** Adds the daemon, the chat and the replay. */
export function addTalk(program: Command, io: Io): void {
  addDaemon(program, io);
  addChat(program, io);
  addDemo(program, io);
}

function addDaemon(program: Command, io: Io): void {
  withConfig(program.command("start"))
    .description("run the daemon; in a terminal, with a chat")
    .action(async (options: CommonOptions) => (await import("./start.ts")).start(io, options));
}

function addChat(program: Command, io: Io): void {
  withConfig(program.command("chat"))
    .description("talk to an agent here, through the daemon if one runs")
    .option("--channel <name>", "the conversation; default: the agent's id")
    .option("--agent <id>", "who answers; default: the first agent of the configuration")
    .option("--as <name>", "who you are; default: your name on this machine")
    .option("--multi", "several people share this terminal: a line `name: text` speaks as that name")
    .option("--jsonl", "for scripts: JSON lines in and out, many channels side by side")
    .action(async (options: ChatOptions) => (await import("./chat.ts")).chat(io, options));
  withConfig(program.command("replay"))
    .argument("<file>", "JSON lines of {conversation_id, author, ts, text}; ts as 2026-05-01T12:00:00Z")
    .description("send recorded messages through the same pipeline")
    .option("--channel <name>", "all into this channel; default: a channel for each conversation")
    .option("--agent <id>", "who answers; default: the first agent of the configuration")
    .option("--reply-every <n>", "every n-th message of a channel wants a reply; 0: none", wholeNumber, 20)
    .addOption(
      new Option("--speed <speed>", "max: as fast as it goes; real: as it was said")
        .choices(["max", "real"])
        .default("max"),
    )
    .action(async (file: string, options: ReplayOptions) =>
      (await import("./replay.ts")).replay(io, file, options),
    );
}

function addDemo(program: Command, io: Io): void {
  program
    .command("demo")
    .description("watch 400 messages go through a small window, with explanations: three minutes, no key")
    .option("--speed <n>", "how many times as fast; max: without waits", speed, 1)
    .option("--no-color", "without colours, as with NO_COLOR")
    .action(async (options: DemoOptions) => (await import("./demo.ts")).demo(io, options));
}

/** Reads a speed; `max` is without limit. */
function speed(text: string): number {
  const value = text === "max" ? Infinity : Number(text);
  if (text.trim() === "" || !(value > 0))
    throw new InvalidArgumentError("Expected a number above 0, or max.");
  return value;
}

/** Adds the commands about the whole Weir. */
export function addOverviews(program: Command, io: Io): void {
  withConfig(program.command("status"))
    .description("show the daemon, its platforms and models, what waits, and the fullest channels")
    .option("--daemon <name>", "in a cluster, this one; default: the one on this machine")
    .option("--json", "as JSON")
    .action(async (options: StatusOptions) => (await import("./status.ts")).showStatus(io, options));
  withConfig(program.command("open"))
    .description("print the address of the daemon's page, with a code that signs in once")
    .option("--viewer", "it signs in a viewer, who reads what was said in public and changes nothing")
    .action(async (options: OpenOptions) => (await import("./open.ts")).open(io, options));
  withConfig(program.command("reload"))
    .description(
      "have the daemon read its configuration again, and say what has changed and what waits for a restart",
    )
    .option("--daemon <name>", "in a cluster, this one; default: the one on this machine")
    .option("--force", "also a file that is held back because it looks incomplete")
    .action(async (options: ReloadOptions) => (await import("./reload.ts")).reload(io, options));
  addCluster(program, io);
  withConfig(program.command("channels"))
    .description("list the channels: messages, level at the last answer, last heard, due")
    .option("--json", "a JSON object a line")
    .option("--limit <n>", "how many at most", positiveNumber, 50)
    .addOption(
      new Option("--sort <by>", "the highest, the newest and the largest first")
        .choices(CHANNEL_ORDERS)
        .default("heard"),
    )
    .action(async (options: ChannelsOptions) => (await import("./channels.ts")).showChannels(io, options));
  withConfig(program.command("logs"))
    .description("show the last lines of the daemon's log, a line an event")
    .option("-f, --follow", "go on with what comes, until Ctrl-C")
    .option("--channel <name>", "only of this channel; main, or platform:name")
    .addOption(new Option("--level <level>", "this level and above").choices(LOG_LEVELS))
    .option("-n, --lines <n>", "how many of the last lines", positiveNumber, 50)
    .option("--json", "as the file has them")
    .action(async (options: LogsOptions) => (await import("./logs.ts")).showLogs(io, options));
  withConfig(program.command("models"))
    .description("show what was learned of models: windows, tokens, refusals")
    .option("--forget <name>", "forget what was learned of this model")
    .option("--json", "a JSON object a line")
    .action(async (options: ModelsOptions) => (await import("./models.ts")).showModels(io, options));
  withConfig(program.command("usage"))
    .description("show the models' usage, and its cost by today's prices")
    .addOption(new Option("--by <key>", "group by this").choices(USAGE_KEYS).default("agent"))
    .option("--since <time>", "a duration, as 12h, or a day, as 2026-11-01", "7d")
    .option("--json", "as JSON")
    .action(async (options: UsageOptions) => (await import("./usage.ts")).showUsage(io, options));
}

function addCluster(program: Command, io: Io): void {
  const cluster = withConfig(program.command("cluster"))
    .enablePositionalOptions()
    .description("show the daemons of a cluster, their channels, and what waits there")
    .option("--json", "as JSON, with all partitions")
    .action(async (options: ClusterOptions) => (await import("./cluster.ts")).showCluster(io, options));
  withConfig(cluster.command("drain"))
    .argument("<daemon>", "its name, as weir cluster shows it")
    .description("have a daemon hand on all its channels until --undo or its next start")
    .option("--undo", "it takes its share again")
    .action(async (name: string, options: DrainOptions) =>
      (await import("./cluster.ts")).drainMember(io, name, options),
    );
}

/** Adds the commands that show one channel, or change how it is summarised. */
export function addChannel(program: Command, io: Io): void {
  addViews(program, io);
  addCompactions(program, io);
  addTune(program, io);
}

function addViews(program: Command, io: Io): void {
  withConfig(program.command("context"))
    .argument("<channel>", "main, or platform:name")
    .description("show a channel's next request to the model, or that of one of its last turns")
    .option("--json", "as JSON")
    .option("--turn <id>", "the last request of this turn; last: the newest turn")
    .option("--text", "with --turn: also the texts in view, as they read now")
    .action(async (channel: string, options: ContextOptions) =>
      (await import("./context.ts")).showContext(io, channel, options),
    );
  withConfig(program.command("log"))
    .argument("<channel>", "main, or platform:name")
    .description("show a channel's log, entry by entry")
    .option("--json", "a JSON object a line")
    .option("--from <seq>", "first entry", wholeNumber)
    .option("--to <seq>", "last entry", wholeNumber)
    .action(async (channel: string, options: LogOptions) =>
      (await import("./log.ts")).showLog(io, channel, options),
    );
}

function addCompactions(program: Command, io: Io): void {
  withConfig(program.command("compactions"))
    .argument("<channel>", "main, or platform:name")
    .description("show what was summarised, when and how, with the summaries; the newest last")
    .option("--json", "a JSON object a line")
    .option("--limit <n>", "how many of the newest", positiveNumber, 20)
    .action(async (channel: string, options: CompactionsOptions) =>
      (await import("./compactions.ts")).showCompactions(io, channel, options),
    );
  withConfig(program.command("compact"))
    .argument("<channel>", "main, or platform:name")
    .description("summarise what is old in a channel now")
    .option(
      "--redo <id>",
      "write the summary of this compaction again instead; weir compactions shows the ids",
    )
    .action(async (channel: string, options: CompactOptions) =>
      (await import("./compact.ts")).compact(io, channel, options),
    );
}

function addTune(program: Command, io: Io): void {
  withConfig(program.command("tune"))
    .argument("<channel>", "main, or platform:name")
    .description(
      "replay a channel's log with other settings, without a model, and compare what it would have cost",
    )
    .option(
      "--set <key=value>",
      "a setting to try, such as compaction.target=0.4,0.5; may be repeated",
      (text: string, all: readonly string[] | undefined) => [...(all ?? []), text],
    )
    .option("--from <seq>", "first entry", positiveNumber)
    .option("--to <seq>", "last entry", positiveNumber)
    .option("--at <seq>", "show what the turn that answers this entry saw; turn:NUMBER for a turn", turnAt)
    .option(
      "--summariser-seconds <s>",
      "how long a summary takes; default: the median of the channel's own, else 20",
      seconds,
    )
    .option("--json", "as JSON")
    .action(async (channel: string, options: TuneOptions) =>
      (await import("./tune.ts")).tune(io, channel, options),
    );
}

function turnAt(text: string): NonNullable<TuneOptions["at"]> {
  return text.startsWith("turn:")
    ? { turn: positiveNumber(text.slice("turn:".length)) }
    : { seq: positiveNumber(text) };
}

/** Longest time that is taken, s. */
const MOST_SECONDS = 86_400;

function seconds(text: string): number {
  const value = text.trim() === "" ? Number.NaN : Number(text);
  if (!(value >= 0 && value <= MOST_SECONDS))
    throw new InvalidArgumentError(`Expected a number of seconds, ${MOST_SECONDS} at most.`);
  return value;
}

/** Adds the commands for memories, and for the people whose they are. */
export function addRemembered(program: Command, io: Io): void {
  addMemories(program, io);
  addForgetUser(program, io);
  addPair(program, io);
}

function addMemories(program: Command, io: Io): void {
  const memories = withConfig(program.command("memories"))
    .enablePositionalOptions()
    .description("show what is remembered, with the words that prove it")
    .option("--channel <name>", "only what was said there")
    .option("--rejected", "how many were refused instead, by channel and reason")
    .option("--json", "a JSON object a line")
    .action(async (options: MemoriesOptions) => (await import("./memories.ts")).showMemories(io, options));
  withConfig(memories.command("export"))
    .argument("<file>", "a new file; -: standard output")
    .description("write every memory as a line of JSON")
    .option("--channel <name>", "only what was said there")
    .action(async (file: string, options: ExportOptions) =>
      (await import("./memory-transfer.ts")).exportMemories(io, file, options),
    );
  withConfig(memories.command("import"))
    .argument("<file>", "what export has written; -: standard input")
    .description("add the memories of a file whose messages are in the log")
    .action(async (file: string, options: CommonOptions) =>
      (await import("./memory-transfer.ts")).importMemories(io, file, options),
    );
}

function addForgetUser(program: Command, io: Io): void {
  withConfig(program.command("forget-user"))
    .argument("<id>", "platform:id, as discord:1234; a name shows the ids")
    .description("show what a person has said in all channels of a platform, and with --yes forget it")
    .option("--yes", "do it; it cannot be undone")
    .action(async (id: string, options: ForgetUserOptions) =>
      (await import("./forget-user.ts")).forgetUser(io, id, options),
    );
}

function addPair(program: Command, io: Io): void {
  withConfig(program.command("pair"))
    .argument("[code]", "the stranger's code; default: the list")
    .description("let a stranger in, or list who waits and who was let in")
    .option("--user <id>", "let in the person with this id, without a code")
    .option("--platform <name>", "of --user, where several platforms are set up")
    .option("--remove <id>", "platform:id, as discord:1234: no longer answer their direct messages")
    .option("--json", "the list as JSON")
    .action(async (code: string | undefined, options: PairOptions) =>
      (await import("./pair.ts")).pair(io, code, options),
    );
}

const MAX_PORT = 65_535;

/** Adds the commands that set up and keep. */
export function addUpkeep(program: Command, io: Io): void {
  withConfig(program.command("init"))
    .description("ask what a first start needs, check each answer, and write .env and config.toml")
    .option("--no-questions", "only make the home: config.toml, .env, agents/")
    .action(async (options: InitOptions) => (await import("./init.ts")).init(io, options));
  withConfig(program.command("migrate"))
    .description("bring the database up to this version, as a start does")
    .option("--force", "also beside a running Weir: safe from one version to the next")
    .action(async (options: MigrateOptions) => (await import("./migrate.ts")).migrate(io, options));
  withConfig(program.command("upgrade"))
    .description("say what this version would change in a home that an older one has used")
    .option("--check", "only look: Node, unknown options, migrations that wait")
    .action(async (options: UpgradeOptions) => (await import("./upgrade.ts")).upgrade(io, options));
  addBackups(program, io);
  const config = program.command("config").description("look at the configuration");
  withConfig(config.command("check"))
    .description("validate the configuration, the prompts and the agents' folders")
    .action(async (options: CommonOptions) => (await import("./config-check.ts")).checkConfig(io, options));
  withConfig(program.command("tools"))
    .argument("[agent]", "its id; default: all agents")
    .description("list the tools that each agent may call, their origin, and whether they ask first")
    .action(async (agent: string | undefined, options: CommonOptions) =>
      (await import("./tools.ts")).showTools(io, agent, options),
    );
  withConfig(program.command("doctor"))
    .description(
      "test database, disk, HTTP port, models, MCP servers and chat platforms, and say what to do; this " +
        "costs a few calls of each model",
    )
    .option("--no-models", "ask no model")
    .option("--window", "also measure each model's window: up to 7 more calls, of up to its size")
    .action(async (options: DoctorOptions) => (await import("./doctor.ts")).doctor(io, options));
  addAudit(program, io);
  withConfig(program.command("invite"))
    .argument("<platform>", "such as discord or slack")
    .description("print the link that brings the bot into a server, or the app into a workspace")
    .action(async (platform: string, options: CommonOptions) =>
      (await import("./invite.ts")).invite(io, platform, options),
    );
  program
    .command("loopback")
    .description("run a small HTTP chat platform on this machine, for tests and scripts")
    .option("--port <port>", "0: any free one", portNumber, 8787)
    .action(async ({ port }: { port: number }) => (await import("./loopback.ts")).loopback(io, port));
  addCompletion(program, io);
}

function addCompletion(program: Command, io: Io): void {
  program
    .command("completion")
    .addArgument(new Argument("<shell>", "the shell that will read it").choices(SHELLS))
    .description("print the completion script of a shell")
    .addHelpText("after", HOW_TO_COMPLETE)
    .action(async (shell: Shell) => (await import("./completion.ts")).printCompletion(io, program, shell));
}

const HOW_TO_COMPLETE = `
Load it where the shell starts:
  bash  source <(weir completion bash)       in ~/.bashrc
  zsh   source <(weir completion zsh)        in ~/.zshrc, after compinit
  fish  weir completion fish | source        in ~/.config/fish/config.fish`;

function addAudit(program: Command, io: Io): void {
  withConfig(program.command("audit"))
    .description("look for what is unsafe, and say how to mend it")
    .option("--fix", "close files and folders to other accounts, and nothing else")
    .option("--backups <folder>", "where you keep backups; default: the folder of the configuration")
    .addOption(
      new Option("--fail-on <severity>", "exit with 1 from this severity on")
        .choices(SEVERITIES)
        .default("warn"),
    )
    .option("--json", "as JSON")
    .action(async (options: AuditOptions) => (await import("./audit.ts")).audit(io, options));
}

function addBackups(program: Command, io: Io): void {
  withConfig(program.command("backup"))
    .argument("<file>", "a new file")
    .description("write the database into one file, also beside a running daemon")
    .option("--verify", "read the file again")
    .action(async (file: string, options: BackupOptions) =>
      (await import("./backup.ts")).backup(io, file, options),
    );
  withConfig(program.command("restore"))
    .argument("<file>", "what backup has written")
    .description("fill an empty database of any Postgres from a backup of this version or an older one")
    .option("--verify", "only check whether the file is whole")
    .action(async (file: string, options: BackupOptions) =>
      (await import("./backup.ts")).restore(io, file, options),
    );
}

function portNumber(text: string): number {
  const port = wholeNumber(text);
  if (port > MAX_PORT) throw new InvalidArgumentError(`Expected at most ${MAX_PORT}.`);
  return port;
}
