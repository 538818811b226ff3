import { Command } from "commander";
import { readVersion } from "../admin/version.ts";
import { addChannel, addOverviews, addRemembered, addTalk, addUpkeep } from "./commands.ts";
import type { Io } from "./shared/io.ts";

const EXAMPLES = `
Examples:
  weir init                         questions, and .env and config.toml from the answers
  weir doctor                       what is missing, and what to do about it
  weir chat                         talk to the first agent here
  weir context discord:1234567890   what the next model call there would be sent
  weir tune main --set compaction.target=0.4
  weir backup weir.backup --verify`;

/**
 * The command line, as a tree of commands: `commands.ts` defines them. Each command's work is a file of its own beside it, which is read
 * when the command runs: `weir --help` reads none of them.
 */
export function createProgram(io: Io): Command {
  const program = new Command("weir")
    .description(
      "A chat bot daemon whose channels never block, never forget silently and never lose a message.",
    )
    .version(readVersion(), "-V, --version", "show the version")
    // An option behind a command is that command's, also where the one around it has one of that name.
    .enablePositionalOptions()
    .showHelpAfterError("(weir --help lists the commands)")
    .configureOutput({ writeOut: (text) => io.stdout.write(text), writeErr: (text) => io.stderr.write(text) })
    .exitOverride();
  program.commandsGroup("Talk:");
  addTalk(program, io);
  program.commandsGroup("Look at all of it:");
  addOverviews(program, io);
  program.commandsGroup("Look at a channel:");
  addChannel(program, io);
  program.commandsGroup("What is remembered, and whose it is:");
  addRemembered(program, io);
  program.commandsGroup("Set up and keep:");
  addUpkeep(program, io);
  program.addHelpText("after", EXAMPLES);
  return program;
}
