import { type Command, InvalidArgumentError } from "commander";

export function withConfig(command: Command): Command {
  return command
    .option("--config <file>", "the configuration; default: config.toml in the home, if there is one")
    .option("--home <folder>", HOME_ABOUT);
}

/** `weir --home FOLDER COMMAND` means the same as `weir COMMAND --home FOLDER`. */
export function withHome(program: Command): Command {
  return program.option("--home <folder>", HOME_ABOUT).hook("preAction", (_, command) => {
    const { home } = command.optsWithGlobals<{ readonly home?: string }>();
    if (home !== undefined && command.getOptionValue("home") === undefined)
      command.setOptionValue("home", home);
  });
}

const HOME_ABOUT =
  "the folder with config.toml, .env, agents and data; default: WEIR_HOME, else this folder if it has a config.toml or is a clone, else ~/.weir";

/** Shells in which the program's commands can be completed. */
export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

/** Reads an option's value: 1 or more. */
export function positiveNumber(text: string): number {
  const value = wholeNumber(text);
  if (value === 0) throw new InvalidArgumentError("Expected 1 or more.");
  return value;
}

/** Reads an option's value: 0 or more. */
export function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) throw new InvalidArgumentError("Expected a whole number.");
  return value;
}
