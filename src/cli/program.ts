/**
 * The command line: each command reads the configuration, works on the store, asks a running daemon or tries a server, and
 * prints. Output goes only through `Io`; the daemon itself is built in `src/daemon`.
 */

import { Command } from "commander";
import { readVersion } from "../admin/version.ts";
import { addChannel, addOverviews, addRemembered, addTalk, addUpkeep } from "./commands.ts";
import { IS_CLONE, weirCommand } from "../files/installation.ts";
import type { Io } from "./shared/io.ts";
import { withHome } from "./shared/options.ts";

const EXAMPLES = `
Examples:
  weir init                         questions, and .env and config.toml from the answers
  weir doctor                       what is missing, and what to do about it
  weir chat                         talk to the first agent here
  weir context discord:1234567890   what the next model call there would be sent
  weir tune main --set compaction.target=0.4
  weir backup weir.backup --verify`;

/**
 * The command line, as a tree of commands: `commands.ts` defines them. Each command has its own file, which is loaded when the
 * command runs: `weir --help` loads none of them.
 */
export function createProgram(io: Io): Command {
  const program = withHome(new Command("weir"))
    .description(
      "A chat bot daemon whose channels never block, never forget silently and never lose a message.",
    )
    .version(readVersion(), "-v, --version", "show the version")
    // An option after a command belongs to that command, even if its parent has one of that name.
    .enablePositionalOptions()
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
  program.addHelpText(
    "after",
    IS_CLONE ? `${EXAMPLES}\n\nIn this clone, weir is: npm run -s weir --` : EXAMPLES,
  );
  pointToHelp(program, []);
  return program;
}

function pointToHelp(command: Command, names: readonly string[]): void {
  const shows = command.commands.length === 0 ? "shows what it takes" : "lists the commands";
  command.showHelpAfterError(`(${weirCommand([...names, "--help"].join(" "))} ${shows})`);
  for (const child of command.commands) pointToHelp(child, [...names, child.name()]);
}
