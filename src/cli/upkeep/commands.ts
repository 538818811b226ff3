import { type Command, InvalidArgumentError } from "commander";
import type { CommonOptions, Io } from "../io.ts";
import { wholeNumber, withConfig } from "../options.ts";
import type { BackupOptions } from "./backup.ts";
import type { DoctorOptions } from "./doctor.ts";
import type { MigrateOptions } from "./migrate.ts";

const MAX_PORT = 65_535;

/** Adds the commands that set up and keep. */
export function addUpkeep(program: Command, io: Io): void {
  withConfig(program.command("init"))
    .description("ask what a first start needs, check each answer, and write .env and config.toml")
    .action(async (options: CommonOptions) => {
      const { init } = await import("../init/init.ts");
      await init(io, options);
    });
  withConfig(program.command("migrate"))
    .description("bring the database up to this version, and end; a daemon does so by itself when it starts")
    .option("--force", "also beside a Weir that runs on it: safe from one version to the next")
    .action(async (options: MigrateOptions) => {
      const { migrate } = await import("./migrate.ts");
      await migrate(io, options);
    });
  addBackups(program, io);
  const config = program.command("config").description("look at the configuration");
  withConfig(config.command("check"))
    .description("validate the configuration, the prompts and the agents' folders without starting")
    .action(async (options: CommonOptions) => {
      const { checkConfig } = await import("./config-check.ts");
      await checkConfig(io, options);
    });
  withConfig(program.command("tools"))
    .argument("[agent]", "its id; default: all agents")
    .description("list the tools that each agent may call, where they come from and whether they ask first")
    .action(async (agent: string | undefined, options: CommonOptions) => {
      const { showTools } = await import("./tools.ts");
      await showTools(io, agent, options);
    });
  withConfig(program.command("doctor"))
    .description(
      "look at database, disk, HTTP port, models, MCP servers and chat platforms, and say what to do about what is wrong; each model answers, calls a tool and writes a summary, which costs a few calls",
    )
    .option("--no-models", "ask no model")
    .option(
      "--window",
      "also measure how much of a request each model reads: up to 7 calls more, of up to its window",
    )
    .action(async (options: DoctorOptions) => {
      const { doctor } = await import("./doctor.ts");
      await doctor(io, options);
    });
  withConfig(program.command("invite"))
    .argument("<platform>", "where to, as discord: the name of one of the tables under [platforms]")
    .description("print the link by which the bot comes into a server, or the app into a workspace")
    .action(async (platform: string, options: CommonOptions) => {
      const { invite } = await import("./invite.ts");
      await invite(io, platform, options);
    });
  program
    .command("loopback")
    .description("run a small HTTP chat platform on this machine, for tests and scripts")
    .option("--port <port>", "0: any free one", portNumber, 8787)
    .action(async ({ port }: { port: number }) => {
      const { loopback } = await import("./loopback.ts");
      await loopback(io, port);
    });
}

function addBackups(program: Command, io: Io): void {
  withConfig(program.command("backup"))
    .argument("<file>", "a new file")
    .description("write everything in the database into one file; a daemon that runs goes on")
    .option("--verify", "read the file again to its end")
    .action(async (file: string, options: BackupOptions) => {
      const { backup } = await import("./backup.ts");
      await backup(io, file, options);
    });
  withConfig(program.command("restore"))
    .argument("<file>", "what backup has written")
    .description(
      "fill an empty database from a backup, of this version or an older one; any Postgres will do",
    )
    .option("--verify", "only read the file, and say whether it is whole")
    .action(async (file: string, options: BackupOptions) => {
      const { restore } = await import("./backup.ts");
      await restore(io, file, options);
    });
}

function portNumber(text: string): number {
  const port = wholeNumber(text);
  if (port > MAX_PORT) throw new InvalidArgumentError(`Expected at most ${MAX_PORT}.`);
  return port;
}
