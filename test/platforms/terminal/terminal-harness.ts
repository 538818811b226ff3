import { PassThrough } from "node:stream";
import { displayable } from "../../../src/text/displayable.ts";
import type { SettledTurn, TurnFeed, TurnNews } from "../../../src/platforms/terminal/turn-news.ts";
import {
  type TerminalMode,
  type TerminalOptions,
  TerminalPlatform,
} from "../../../src/platforms/terminal/terminal-platform.ts";
import type { PlatformHarness, Said } from "../contract.ts";
import { RecordingInbox } from "../recording-inbox.ts";

/** A feed of turns that a test writes to. */
export class ManualTurns implements TurnFeed {
  readonly #listeners = new Set<(news: TurnNews) => void>();

  get listeners(): number {
    return this.#listeners.size;
  }

  on(listener: (news: TurnNews) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  tell(news: TurnNews): void {
    for (const listener of this.#listeners) listener(news);
  }

  settle(
    outcome: SettledTurn["outcome"],
    inReplyTo: readonly string[],
    reason: string | null = null,
    channel = "terminal:main",
  ): void {
    this.tell({ type: "settled", news: { channel, outcome, reason, inReplyTo } });
  }
}

/** A terminal platform whose streams are in the hands of a test. */
export interface Terminal extends AsyncDisposable {
  readonly platform: TerminalPlatform;
  readonly inbox: RecordingInbox;
  readonly turns: ManualTurns;
  readonly input: PassThrough;
  readonly output: PassThrough & { columns: number };
  /** Everything written so far. */
  written(): string;
  /** Resolves once what was written matches. */
  writes(pattern: RegExp): Promise<void>;
}

export async function openTerminal(
  mode: TerminalMode,
  options: Partial<TerminalOptions> = {},
): Promise<Terminal> {
  const input = new PassThrough();
  const output = Object.assign(new PassThrough(), { columns: 40, rows: 24 });
  const turns = new ManualTurns();
  const inbox = new RecordingInbox();
  let text = "";
  const waiters = new Set<() => void>();
  output.setEncoding("utf8");
  output.on("data", (chunk: string) => {
    text += chunk;
    for (const look of waiters) look();
  });
  let nextId = 1;
  const platform = new TerminalPlatform({
    mode,
    input,
    output,
    turns,
    channel: "main",
    agent: "weirdo",
    speaker: "ana",
    multi: false,
    colour: false,
    commands: [{ name: "help", help: "this list", argument: null }],
    onInterrupt: () => {},
    now: () => new Date("2026-05-01T12:00:00Z"),
    newId: () => `id-${nextId++}`,
    ...options,
  });
  await platform.start(inbox);
  return {
    platform,
    inbox,
    turns,
    input,
    output,
    written: () => text,
    writes: async (pattern) => {
      if (pattern.test(text)) return;
      await new Promise<void>((resolve) => {
        const look = (): void => {
          if (!pattern.test(text)) return;
          waiters.delete(look);
          resolve();
        };
        waiters.add(look);
      });
    },
    [Symbol.asyncDispose]: () => platform[Symbol.asyncDispose](),
  };
}

/** The line presenter with an agent that answers nothing and settles everything, so that each next line is sent. */
export async function openLinesHarness(): Promise<PlatformHarness> {
  const terminal = await openTerminal("lines");
  const { inbox, turns } = terminal;
  inbox.onEvent = (event) => queueMicrotask(() => turns.settle("stopped", [event.id]));
  return {
    ...terminal,
    channel: "main",
    failures: ["unavailable"],
    // oxlint-disable-next-line require-await -- an interface's method
    say: async ({ text }: Said) => {
      terminal.input.write(`${text}\n`);
    },
    // oxlint-disable-next-line require-await -- an interface's method
    shown: async () => terminal.written().split("\n").slice(0, -1),
    looks: (text) => displayable(text).trimEnd(),
    // oxlint-disable-next-line require-await -- an interface's method
    fail: async () => {
      terminal.output.destroy();
    },
    [Symbol.asyncDispose]: () => terminal.platform[Symbol.asyncDispose](),
  };
}

export async function openJsonlHarness(): Promise<PlatformHarness> {
  const terminal = await openTerminal("jsonl");
  // oxlint-disable-next-line require-await -- an interface's method
  const write = async (line: object): Promise<void> => {
    terminal.input.write(`${JSON.stringify(line)}\n`);
  };
  return {
    ...terminal,
    channel: "main",
    isScriptable: true,
    failures: ["unavailable"],
    say: ({ author = "ana", ...said }) => write({ author, ...said }),
    edit: (id, text) => write({ edit: id, text }),
    delete: (id) => write({ delete: id }),
    // oxlint-disable-next-line require-await -- an interface's method
    shown: async () => replies(terminal.written()),
    // oxlint-disable-next-line require-await -- an interface's method
    fail: async () => {
      terminal.output.destroy();
    },
    [Symbol.asyncDispose]: () => terminal.platform[Symbol.asyncDispose](),
  };
}

function replies(written: string): string[] {
  return jsonLines(written).flatMap((line) =>
    (line["type"] === "reply" || line["type"] === "notice") && typeof line["text"] === "string"
      ? [line["text"]]
      : [],
  );
}

/** @throws if a line is no JSON object */
export function jsonLines(written: string): Record<string, unknown>[] {
  const lines = written.split("\n");
  if (lines.pop() !== "") throw new Error("the last line is not whole");
  return lines.map((line) => {
    const value: unknown = JSON.parse(line);
    if (typeof value !== "object" || value === null) throw new Error(`no object: ${line}`);
    return Object.fromEntries(Object.entries(value));
  });
}
