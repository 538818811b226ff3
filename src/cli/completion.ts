import type { Command } from "commander";
import { bashCompletion } from "./completion/bash.ts";
import { fishCompletion } from "./completion/fish.ts";
import { completionTable } from "./completion/table.ts";
import { zshCompletion } from "./completion/zsh.ts";
import { type Io, writeOut } from "./shared/io.ts";
import type { Shell } from "./shared/options.ts";

const SCRIPTS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;

/** Prints the script that completes the program's commands, options and choices in a shell; it runs no Weir while somebody types. */
export async function printCompletion(io: Io, program: Command, shell: Shell): Promise<void> {
  await writeOut(io, SCRIPTS[shell](completionTable(program)));
}
