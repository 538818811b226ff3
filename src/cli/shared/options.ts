import { type Command, InvalidArgumentError } from "commander";

export function withConfig(command: Command): Command {
  return command.option(
    "--config <file>",
    "the configuration; default: config.toml in this folder, if there is one",
  );
}

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
