import { type Command, Option } from "commander";
import { CHANNEL_ORDERS, LOG_LEVELS, USAGE_KEYS } from "../../core/listings.ts";
import type { Io } from "../io.ts";
import { positiveNumber, withConfig } from "../options.ts";
import type { ChannelsOptions } from "./channels.ts";
import type { ClusterOptions, DrainOptions } from "./cluster.ts";
import type { LogsOptions } from "./logs.ts";
import type { ModelsOptions } from "./models.ts";
import type { ReloadOptions } from "./reload.ts";
import type { StatusOptions } from "./status.ts";
import type { UsageOptions } from "./usage.ts";

/** Adds the commands that look at all of it. */
export function addOverviews(program: Command, io: Io): void {
  withConfig(program.command("status"))
    .description("show the daemon, its platforms and models, what waits, and the fullest channels")
    .option("--daemon <name>", "in a cluster, this one; default: the one on this machine, if there is one")
    .option("--json", "as JSON")
    .action(async (options: StatusOptions) => {
      const { showStatus } = await import("./status.ts");
      await showStatus(io, options);
    });
  withConfig(program.command("reload"))
    .description(
      "have the daemon read its configuration anew, and say what has changed and what waits for a restart",
    )
    .option("--daemon <name>", "in a cluster, this one; default: the one on this machine, if there is one")
    .option(
      "--force",
      "also a file that is held back, since it may be half of a change: as a start would take it",
    )
    .action(async (options: ReloadOptions) => {
      const { reload } = await import("./reload.ts");
      await reload(io, options);
    });
  addCluster(program, io);
  withConfig(program.command("channels"))
    .description("list the channels: messages, level at the last answer, last heard, due")
    .option("--json", "a JSON object a line")
    .option("--limit <n>", "so many at most, 1 or more", positiveNumber, 50)
    .addOption(
      new Option("--sort <by>", "the highest, the newest and the largest first")
        .choices(CHANNEL_ORDERS)
        .default("heard"),
    )
    .action(async (options: ChannelsOptions) => {
      const { showChannels } = await import("./channels.ts");
      await showChannels(io, options);
    });
  withConfig(program.command("logs"))
    .description("show the last lines of the daemon's log, a line an event")
    .option("-f, --follow", "go on with what comes, until Ctrl-C")
    .option("--channel <name>", "only of this channel; main, or platform:name")
    .addOption(new Option("--level <level>", "only this and what is more important").choices(LOG_LEVELS))
    .option("-n, --lines <n>", "so many of the last lines, 1 or more", positiveNumber, 50)
    .option("--json", "as the file has them")
    .action(async (options: LogsOptions) => {
      const { showLogs } = await import("./logs.ts");
      await showLogs(io, options);
    });
  withConfig(program.command("models"))
    .description("show what was learned of models: windows, tokens, and what their servers have refused")
    .option("--forget <name>", "forget it of this model")
    .option("--json", "a JSON object a line")
    .action(async (options: ModelsOptions) => {
      const { showModels } = await import("./models.ts");
      await showModels(io, options);
    });
  withConfig(program.command("usage"))
    .description(
      "show what the models were sent and have answered, and what that cost by the prices of today",
    )
    .addOption(new Option("--by <key>", "told apart by this").choices(USAGE_KEYS).default("agent"))
    .option("--since <time>", "a length of time, as 12h, or a day, as 2026-11-01", "7d")
    .option("--json", "as JSON")
    .action(async (options: UsageOptions) => {
      const { showUsage } = await import("./usage.ts");
      await showUsage(io, options);
    });
}

function addCluster(program: Command, io: Io): void {
  const cluster = withConfig(program.command("cluster"))
    .enablePositionalOptions()
    .description("show the daemons of a cluster, what each is home of, and what waits there")
    .option("--json", "as JSON, with all partitions")
    .action(async (options: ClusterOptions) => {
      const { showCluster } = await import("./cluster.ts");
      await showCluster(io, options);
    });
  withConfig(cluster.command("drain"))
    .argument("<daemon>", "its name, as weir cluster shows it")
    .description("have a daemon hand on all its channels, and take none until --undo or its next start")
    .option("--undo", "it takes its share again")
    .action(async (name: string, options: DrainOptions) => {
      const { drainMember } = await import("./cluster.ts");
      await drainMember(io, name, options);
    });
}
