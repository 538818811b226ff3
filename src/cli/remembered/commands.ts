import type { Command } from "commander";
import type { CommonOptions, Io } from "../io.ts";
import { withConfig } from "../options.ts";
import type { ForgetUserOptions } from "./forget-user.ts";
import type { MemoriesOptions } from "./memories.ts";
import type { ExportOptions } from "./memory-transfer.ts";
import type { PairOptions } from "./pair.ts";

/** Adds the commands for what is remembered, and for the people whose it is. */
export function addRemembered(program: Command, io: Io): void {
  addMemories(program, io);
  addForgetUser(program, io);
  addPair(program, io);
}

function addMemories(program: Command, io: Io): void {
  const memories = withConfig(program.command("memories"))
    .enablePositionalOptions()
    .description("show what is remembered, with the words that prove it")
    .option("--channel <name>", "only what was said there; main, or platform:name")
    .option("--rejected", "instead, how many were refused, by channel and reason")
    .option("--json", "a JSON object a line")
    .action(async (options: MemoriesOptions) => {
      const { showMemories } = await import("./memories.ts");
      await showMemories(io, options);
    });
  withConfig(memories.command("export"))
    .argument("<file>", "a new file; -: standard output")
    .description("write every memory as a line of JSON, with who said it, when, and in which messages")
    .option("--channel <name>", "only what was said there; main, or platform:name")
    .action(async (file: string, options: ExportOptions) => {
      const { exportMemories } = await import("./memory-transfer.ts");
      await exportMemories(io, file, options);
    });
  withConfig(memories.command("import"))
    .argument("<file>", "what export has written; -: standard input")
    .description("add the memories of a file whose messages are in the log; twice is once")
    .action(async (file: string, options: CommonOptions) => {
      const { importMemories } = await import("./memory-transfer.ts");
      await importMemories(io, file, options);
    });
}

function addForgetUser(program: Command, io: Io): void {
  withConfig(program.command("forget-user"))
    .argument("<id>", "platform:id, as discord:1234; a name shows whose it is")
    .description(
      "show what a person has said, in all channels of a platform, and with --yes forget it; a running daemon does it, if there is one",
    )
    .option("--yes", "do it; it cannot be undone")
    .action(async (id: string, options: ForgetUserOptions) => {
      const { forgetUser } = await import("./forget-user.ts");
      await forgetUser(io, id, options);
    });
}

function addPair(program: Command, io: Io): void {
  withConfig(program.command("pair"))
    .argument("[code]", "the code that a stranger was told; default: the list")
    .description(
      "let somebody in whose direct messages are not answered yet, or list who waits and who was let in",
    )
    .option("--user <id>", "let in who has this id on the platform, without a code")
    .option("--platform <name>", "of --user, where several platforms are set up")
    .option("--remove <id>", "platform:id, as discord:1234: their direct messages are answered no longer")
    .option("--json", "the list as JSON")
    .action(async (code: string | undefined, options: PairOptions) => {
      const { pair } = await import("./pair.ts");
      await pair(io, code, options);
    });
}
