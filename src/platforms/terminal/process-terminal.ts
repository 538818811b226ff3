import process from "node:process";
import { defaultSpeaker } from "./intake.ts";
import { type TerminalMode, type TerminalOptions, TerminalPlatform } from "./terminal-platform.ts";

interface ProcessTerminalOptions extends Omit<
  TerminalOptions,
  "mode" | "input" | "output" | "speaker" | "colour" | "onInterrupt" | "now" | "newId"
> {
  /** `--as`; undefined: the name of the operating system's user. */
  readonly speaker: string | undefined;
  readonly jsonl: boolean;
  /** NO_COLOR is set. */
  readonly noColour: boolean;
}

/** The terminal platform over the process's own standard streams. */
export function createProcessTerminal(options: ProcessTerminalOptions): TerminalPlatform {
  const { jsonl, noColour, speaker = defaultSpeaker(), ...same } = options;
  const mode = chooseMode(jsonl);
  return new TerminalPlatform({
    ...same,
    mode,
    speaker,
    input: process.stdin,
    output: process.stdout,
    colour: mode === "interactive" && !noColour,
    onInterrupt: () => process.kill(process.pid, "SIGINT"),
  });
}

/** A person who reads or types through a pipe gets plain lines: only a whole terminal can be drawn on. */
export function chooseMode(isJsonl: boolean): TerminalMode {
  if (isJsonl) return "jsonl";
  return process.stdin.isTTY && process.stdout.isTTY ? "interactive" : "lines";
}
