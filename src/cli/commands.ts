import { Argument, type Command, Option, InvalidArgumentError } from "commander";
import type { Io } from "./shared/io.ts";
import { positiveNumber, type Shell, SHELLS, wholeNumber, withConfig } from "./shared/options.ts";
import { SEVERITIES } from "./audit/finding.ts";
import type { At } from "../tune/simulation.ts";
import { CHANNEL_ORDERS, LOG_LEVELS, USAGE_KEYS } from "../core/listings.ts";

/** Runs a command. Its file is read only then. */
function runs<Given extends readonly unknown[]>(
  io: Io,
  load: () => Promise<(io: Io, ...given: Given) => Promise<void>>,
): (...given: Given) => Promise<void> {
  return async (...given) => (await load())(io, ...given);
}

/** Adds the daemon, the chat and the replay. */
export function addTalk(program: Command, io: Io): void {
  withConfig(program.command("start"))
    .description("run the daemon; in a terminal, with a chat")
    .action(runs(io, async () => (await import("./start.ts")).start));
  withConfig(program.command("chat"))
    .description("talk to an agent here, through the daemon if one runs")
    .option("--channel <name>", "the conversation; default: the agent's id")
    .option("--agent <id>", "who answers; default: the first agent of the configuration")
    .option("--as <name>", "who you are; default: your name on this machine")
    .option("--multi", "several people share this terminal: a line `name: text` speaks as that name")
    .option("--jsonl", "for scripts: JSON lines in and out, many channels side by side")
    .action(runs(io, async () => (await import("./chat.ts")).chat));
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
    .action(runs(io, async () => (await import("./replay.ts")).replay));
  program
    .command("demo")
    .description("watch 400 messages go through a small window, with explanations: three minutes, no key")
    .option("--speed <n>", "how many times as fast; max: without waits", speed, 1)
    .option("--no-color", "without colours, as with NO_COLOR")
    .action(runs(io, async () => (await import("./demo.ts")).demo));
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
    .action(runs(io, async () => (await import("./status.ts")).showStatus));
  withConfig(program.command("open"))
    .description("print the address of the daemon's page, with a code that signs in once")
    .option("--viewer", "it signs in a viewer, who reads what was said in public and changes nothing")
    .action(runs(io, async () => (await import("./open.ts")).open));
  withConfig(program.command("reload"))
    .description(
      "have the daemon read its configuration again, and say what has changed and what waits for a restart",
    )
    .option("--daemon <name>", "in a cluster, this one; default: the one on this machine")
    .option("--force", "also a file that is held back because it looks incomplete")
    .action(runs(io, async () => (await import("./reload.ts")).reload));
  const cluster = withConfig(program.command("cluster"))
    .enablePositionalOptions()
    .description("show the daemons of a cluster, their channels, and what waits there")
    .option("--json", "as JSON, with all partitions")
    .action(runs(io, async () => (await import("./cluster.ts")).showCluster));
  withConfig(cluster.command("drain"))
    .argument("<daemon>", "its name, as weir cluster shows it")
    .description("have a daemon hand on all its channels until --undo or its next start")
    .option("--undo", "it takes its share again")
    .action(runs(io, async () => (await import("./cluster.ts")).drainMember));
  withConfig(program.command("channels"))
    .description("list the channels: messages, level at the last answer, last heard, due")
    .option("--json", "a JSON object a line")
    .option("--limit <n>", "how many at most", positiveNumber, 50)
    .addOption(
      new Option("--sort <by>", "the highest, the newest and the largest first")
        .choices(CHANNEL_ORDERS)
        .default("heard"),
    )
    .action(runs(io, async () => (await import("./channels.ts")).showChannels));
  withConfig(program.command("logs"))
    .description("show the last lines of the daemon's log, a line an event")
    .option("-f, --follow", "go on with what comes, until Ctrl-C")
    .option("--channel <name>", "only of this channel; main, or platform:name")
    .addOption(new Option("--level <level>", "this level and above").choices(LOG_LEVELS))
    .option("-n, --lines <n>", "how many of the last lines", positiveNumber, 50)
    .option("--json", "as the file has them")
    .action(runs(io, async () => (await import("./logs.ts")).showLogs));
  withConfig(program.command("models"))
    .description("show what was learned of models: windows, tokens, refusals")
    .option("--forget <name>", "forget what was learned of this model")
    .option("--json", "a JSON object a line")
    .action(runs(io, async () => (await import("./models.ts")).showModels));
  withConfig(program.command("usage"))
    .description("show the models' usage, and its cost by today's prices")
    .addOption(new Option("--by <key>", "group by this").choices(USAGE_KEYS).default("agent"))
    .option("--since <time>", "a duration, as 12h, or a day, as 2026-11-01", "7d")
    .option("--json", "as JSON")
    .action(runs(io, async () => (await import("./usage.ts")).showUsage));
}

/** Adds the commands that show one channel, or change how it is summarised. */
export function addChannel(program: Command, io: Io): void {
  withConfig(program.command("context"))
    .argument("<channel>", "main, or platform:name")
    .description("show a channel's next request to the model, or that of one of its last turns")
    .option("--json", "as JSON")
    .option("--turn <id>", "the last request of this turn; last: the newest turn")
    .option("--text", "with --turn: also the texts in view, as they read now")
    .action(runs(io, async () => (await import("./context.ts")).showContext));
  withConfig(program.command("log"))
    .argument("<channel>", "main, or platform:name")
    .description("show a channel's log, entry by entry")
    .option("--json", "a JSON object a line")
    .option("--from <seq>", "first entry", wholeNumber)
    .option("--to <seq>", "last entry", wholeNumber)
    .action(runs(io, async () => (await import("./log.ts")).showLog));
  withConfig(program.command("compactions"))
    .argument("<channel>", "main, or platform:name")
    .description("show what was summarised, when and how, with the summaries; the newest last")
    .option("--json", "a JSON object a line")
    .option("--limit <n>", "how many of the newest", positiveNumber, 20)
    .action(runs(io, async () => (await import("./compactions.ts")).showCompactions));
  withConfig(program.command("compact"))
    .argument("<channel>", "main, or platform:name")
    .description("summarise what is old in a channel now")
    .option(
      "--redo <id>",
      "write the summary of this compaction again instead; weir compactions shows the ids",
    )
    .action(runs(io, async () => (await import("./compact.ts")).compact));
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
    .action(runs(io, async () => (await import("./tune.ts")).tune));
}

function turnAt(text: string): At {
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
  const memories = withConfig(program.command("memories"))
    .enablePositionalOptions()
    .description("show what is remembered, with the words that prove it")
    .option("--channel <name>", "only what was said there")
    .option("--rejected", "how many were refused instead, by channel and reason")
    .option("--json", "a JSON object a line")
    .action(runs(io, async () => (await import("./memories.ts")).showMemories));
  withConfig(memories.command("export"))
    .argument("<file>", "a new file; -: standard output")
    .description("write every memory as a line of JSON")
    .option("--channel <name>", "only what was said there")
    .action(runs(io, async () => (await import("./memory-transfer.ts")).exportMemories));
  withConfig(memories.command("import"))
    .argument("<file>", "what export has written; -: standard input")
    .description("add the memories of a file whose messages are in the log")
    .action(runs(io, async () => (await import("./memory-transfer.ts")).importMemories));
  withConfig(program.command("forget-user"))
    .argument("<id>", "platform:id, as discord:1234; a name shows the ids")
    .description("show what a person has said in all channels of a platform, and with --yes forget it")
    .option("--yes", "do it; it cannot be undone")
    .action(runs(io, async () => (await import("./forget-user.ts")).forgetUser));
  withConfig(program.command("pair"))
    .argument("[code]", "the stranger's code; default: the list")
    .description("let a stranger in, or list who waits and who was let in")
    .option("--user <id>", "let in the person with this id, without a code")
    .option("--platform <name>", "of --user, where several platforms are set up")
    .option("--remove <id>", "platform:id, as discord:1234: no longer answer their direct messages")
    .option("--json", "the list as JSON")
    .action(runs(io, async () => (await import("./pair.ts")).pair));
}

const MAX_PORT = 65_535;

/** Adds the commands that set up and keep. */
export function addUpkeep(program: Command, io: Io): void {
  withConfig(program.command("init"))
    .description("ask what a first start needs, check each answer, and write .env and config.toml")
    .option("--no-questions", "only make the home: config.toml, .env, agents/")
    .action(runs(io, async () => (await import("./init.ts")).init));
  withConfig(program.command("migrate"))
    .description("bring the database up to this version, as a start does")
    .option("--force", "also beside a running Weir: safe from one version to the next")
    .action(runs(io, async () => (await import("./migrate.ts")).migrate));
  withConfig(program.command("upgrade"))
    .description("say what this version would change in a home that an older one has used")
    .option("--check", "only look: Node, unknown options, migrations that wait")
    .action(runs(io, async () => (await import("./upgrade.ts")).upgrade));
  addBackups(program, io);
  const config = program.command("config").description("look at the configuration");
  withConfig(config.command("check"))
    .description("validate the configuration, the prompts and the agents' folders")
    .action(runs(io, async () => (await import("./config-check.ts")).checkConfig));
  withConfig(program.command("tools"))
    .argument("[agent]", "its id; default: all agents")
    .description("list the tools that each agent may call, their origin, and whether they ask first")
    .action(runs(io, async () => (await import("./tools.ts")).showTools));
  withConfig(program.command("doctor"))
    .description(
      "test database, disk, HTTP port, models, MCP servers and chat platforms, and say what to do; this " +
        "costs a few calls of each model",
    )
    .option("--no-models", "ask no model")
    .option("--window", "also measure each model's window: up to 7 more calls, of up to its size")
    .action(runs(io, async () => (await import("./doctor.ts")).doctor));
  addAudit(program, io);
  withConfig(program.command("invite"))
    .argument("<platform>", "such as discord or slack")
    .description("print the link that brings the bot into a server, or the app into a workspace")
    .action(runs(io, async () => (await import("./invite.ts")).invite));
  program
    .command("loopback")
    .description("run a small HTTP chat platform on this machine, for tests and scripts")
    .option("--port <port>", "0: any free one", portNumber, 8787)
    .action(runs(io, async () => (await import("./loopback.ts")).loopback));
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
    .action(runs(io, async () => (await import("./audit.ts")).audit));
}

function addBackups(program: Command, io: Io): void {
  withConfig(program.command("backup"))
    .argument("<file>", "a new file")
    .description("write the database into one file, also beside a running daemon")
    .option("--verify", "read the file again")
    .action(runs(io, async () => (await import("./backup.ts")).backup));
  withConfig(program.command("restore"))
    .argument("<file>", "what backup has written")
    .description("fill an empty database of any Postgres from a backup of this version or an older one")
    .option("--verify", "only check whether the file is whole")
    .action(runs(io, async () => (await import("./backup.ts")).restore));
}

function portNumber(text: string): number {
  const port = wholeNumber(text);
  if (port > MAX_PORT) throw new InvalidArgumentError(`Expected at most ${MAX_PORT}.`);
  return port;
}
