import process from "node:process";
import type { PlatformCommand } from "../platform.ts";
import type { InputHistory } from "./presenters/presenter.ts";
import { defaultSpeaker } from "./intake.ts";
import type { TurnFeed } from "./turn-news.ts";
import { type TerminalMode, TerminalPlatform } from "./terminal-platform.ts";

export interface ProcessTerminalOptions {
  readonly channel: string;
  readonly agent: string;
  /** `--as`; undefined: the name of the operating system's user. */
  readonly speaker: string | undefined;
  readonly multi: boolean;
  readonly commands: readonly PlatformCommand[];
  readonly jsonl: boolean;
  /** NO_COLOR is set. */
  readonly noColour: boolean;
  readonly turns: TurnFeed;
  /** See `TerminalOptions`. */
  readonly about?: () => readonly string[];
  readonly exportsTo: string;
  readonly isAttached?: boolean;
  /** Default: no history is kept. */
  readonly history?: InputHistory | undefined;
}

/** The terminal platform over the process's own standard streams. */
export function createProcessTerminal(options: ProcessTerminalOptions): TerminalPlatform {
  const { channel, agent, multi, commands, turns, history, exportsTo, isAttached = false } = options;
  const mode = chooseMode(options.jsonl);
  return new TerminalPlatform({
    mode,
    channel,
    agent,
    multi,
    commands,
    turns,
    isAttached,
    exportsTo,
    ...(options.about !== undefined && { about: options.about }),
    history,
    input: process.stdin,
    output: process.stdout,
    speaker: options.speaker ?? defaultSpeaker(),
    colour: mode === "interactive" && !options.noColour,
    onInterrupt: () => process.kill(process.pid, "SIGINT"),
  });
}

/** A person who reads or types through a pipe gets plain lines: only a whole terminal can be drawn on. */
export function chooseMode(isJsonl: boolean): TerminalMode {
  if (isJsonl) return "jsonl";
  return process.stdin.isTTY && process.stdout.isTTY ? "interactive" : "lines";
}
