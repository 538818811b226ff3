import { type Command, InvalidArgumentError } from "commander";
import type { Io } from "../io.ts";
import { positiveNumber, wholeNumber, withConfig } from "../options.ts";
import type { CompactOptions } from "./compact.ts";
import type { CompactionsOptions } from "./compactions.ts";
import type { ContextOptions } from "./context.ts";
import type { LogOptions } from "./log.ts";
import type { TuneOptions } from "./tune.ts";

/** Adds the commands that look at one channel, or change how it is summarised. */
export function addChannel(program: Command, io: Io): void {
  addViews(program, io);
  addCompactions(program, io);
  addTune(program, io);
}

function addViews(program: Command, io: Io): void {
  withConfig(program.command("context"))
    .argument("<channel>", "main, or platform:name")
    .description(
      "show what the next model call of a channel would be sent, or what one of its last turns was sent",
    )
    .option("--json", "as JSON")
    .option("--turn <id>", "the last request of this turn, as far as it is kept; last: of the newest")
    .option("--text", "with --turn: also what it had in view, as it reads now")
    .action(async (channel: string, options: ContextOptions) => {
      const { showContext } = await import("./context.ts");
      await showContext(io, channel, options);
    });
  withConfig(program.command("log"))
    .argument("<channel>", "main, or platform:name")
    .description("show a channel's log, entry by entry")
    .option("--json", "a JSON object a line")
    .option("--from <seq>", "first entry", wholeNumber)
    .option("--to <seq>", "last entry", wholeNumber)
    .action(async (channel: string, options: LogOptions) => {
      const { showLog } = await import("./log.ts");
      await showLog(io, channel, options);
    });
}

function addCompactions(program: Command, io: Io): void {
  withConfig(program.command("compactions"))
    .argument("<channel>", "main, or platform:name")
    .description("show what was summarised, when and how, with the summaries; the newest last")
    .option("--json", "a JSON object a line")
    .option("--limit <n>", "so many of the newest, 1 or more", positiveNumber, 20)
    .action(async (channel: string, options: CompactionsOptions) => {
      const { showCompactions } = await import("./compactions.ts");
      await showCompactions(io, channel, options);
    });
  withConfig(program.command("compact"))
    .argument("<channel>", "main, or platform:name")
    .description("summarise what is old in a channel now; a running daemon does it, if there is one")
    .option(
      "--redo <id>",
      "instead, write the summary of this compaction again; weir compactions shows the ids",
    )
    .action(async (channel: string, options: CompactOptions) => {
      const { compact } = await import("./compact.ts");
      await compact(io, channel, options);
    });
}

function addTune(program: Command, io: Io): void {
  withConfig(program.command("tune"))
    .argument("<channel>", "main, or platform:name")
    .description(
      "play a channel's log again with other settings, without a model, and show side by side what it would have cost",
    )
    .option(
      "--set <key=value>",
      "a setting to try, such as compaction.target=0.4; several values, 0.4,0.5, are columns; may be repeated",
      (text: string, all: readonly string[] | undefined) => [...(all ?? []), text],
    )
    .option("--from <seq>", "first entry; nothing is known of what came before", positiveNumber)
    .option("--to <seq>", "last entry", positiveNumber)
    .option("--at <seq>", "show what the turn saw that answers this entry; turn:NUMBER for a turn", turnAt)
    .option(
      "--summariser-seconds <s>",
      "how long a summary takes; default: the median of the channel's own, else 20",
      seconds,
    )
    .option("--json", "as JSON")
    .action(async (channel: string, options: TuneOptions) => {
      const { tune } = await import("./tune.ts");
      await tune(io, channel, options);
    });
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
