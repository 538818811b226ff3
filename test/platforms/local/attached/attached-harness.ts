import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { createConnection, type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { PassThrough } from "node:stream";
import { pino } from "pino";
import type { ChatHost } from "../../../../src/platforms/local/attached/attached-chat.ts";
import { DaemonLink } from "../../../../src/platforms/local/attached/daemon-link.ts";
import { SharedTerminal } from "../../../../src/platforms/local/attached/shared-terminal.ts";
import { PROTOCOL } from "../../../../src/platforms/local/attached/wire.ts";
import { type TerminalMode, TerminalPlatform } from "../../../../src/platforms/terminal/terminal-platform.ts";
import type { PlatformHarness, Said } from "../../contract.ts";
import { RecordingInbox } from "../../recording-inbox.ts";
import { FakeScreen } from "../../terminal/fake-screen.ts";
import { jsonLines, ManualTurns } from "../../terminal/terminal-harness.ts";

/** The daemon's end of the socket, without a daemon behind it. */
export interface Served extends AsyncDisposable {
  readonly shared: SharedTerminal;
  readonly inbox: RecordingInbox;
  readonly turns: ManualTurns;
  readonly socket: string;
  /** Ends as a killed daemon does: without a message. */
  die(): Promise<void>;
  /** Another daemon in the place of the first. */
  revive(host?: Partial<ChatHost>): Promise<Served>;
}

/** A daemon without a log, which answers in every channel. */
export const HOST: ChatHost = {
  pid: 4711,
  isOfChat: false,
  commands: [{ name: "help", help: "this list", argument: null }],
  about: () => ["models  none"],
  placeOf: ({ channel }) => ({ channel: channel ?? "main", agent: "weirdo" }),
  takeUp: async () => undefined,
  endOf: async () => null,
};

export async function serve(host: Partial<ChatHost> = {}, inbox = new RecordingInbox()): Promise<Served> {
  const folder = await mkdtemp(path.join(tmpdir(), "weir-attach-"));
  return open(path.join(folder, "socket"), host, inbox, folder);
}

async function open(
  socket: string,
  host: Partial<ChatHost>,
  inbox: RecordingInbox,
  folder: string | null,
): Promise<Served> {
  const turns = new ManualTurns();
  const log = pino({ level: "silent" });
  const shared = new SharedTerminal({ own: null, socket: async () => socket, turns, log });
  shared.hostedBy({ ...HOST, ...host });
  await shared.start(inbox);
  return {
    shared,
    inbox,
    turns,
    socket,
    die: async () => shared[Symbol.asyncDispose](),
    revive: async (other = {}) => open(socket, other, inbox, null),
    async [Symbol.asyncDispose]() {
      await shared[Symbol.asyncDispose]();
      if (folder !== null) await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A chat without code of Weir, and the lines that it received. */
export function sayHello(
  socket: string,
  protocol = PROTOCOL,
): { readonly chat: Socket; readonly told: () => string } {
  const chat = createConnection(socket);
  let told = "";
  chat.setEncoding("utf8");
  chat.on("error", () => undefined);
  chat.on("data", (chunk: string) => (told += chunk));
  const hello = { channel: null, agent: null, kind: "dm", opensAtOnce: true, streams: true };
  chat.write(`${JSON.stringify({ type: "hello", protocol, ...hello })}\n`);
  return { chat, told: () => told };
}

/** A chat that is attached to it. */
export interface Chat extends AsyncDisposable {
  readonly link: DaemonLink;
  readonly terminal: TerminalPlatform;
  readonly input: PassThrough;
  readonly output: PassThrough;
  readonly remarks: readonly string[];
  written(): string;
  /** What is on the screen of an interactive one. */
  shown(): string;
  /** Settles when the chat is over for good. */
  readonly running: Promise<void>;
}

export interface AttachOptions {
  readonly channel?: string;
  readonly speaker?: string;
  readonly patienceMs?: number;
}

/** @param socket its path, or what finds it */
export async function attach(
  socket: string | (() => Promise<string | null>),
  mode: TerminalMode,
  { channel: wanted, speaker = "ana", patienceMs = 10_000 }: AttachOptions = {},
): Promise<Chat> {
  const kind = mode === "jsonl" ? "channel" : "dm";
  const link = await DaemonLink.open({
    hello: { channel: wanted ?? null, agent: null, kind, opensAtOnce: true, streams: mode === "interactive" },
    findSocket: typeof socket === "string" ? async () => socket : socket,
    patienceMs,
  });
  assert(link !== null, "somebody listens");
  const input = new PassThrough();
  const output = Object.assign(new PassThrough(), { columns: 200, rows: 50 });
  const screen = new FakeScreen(output.columns);
  let text = "";
  output.setEncoding("utf8");
  output.on("data", (chunk: string) => {
    text += chunk;
    if (mode === "interactive") screen.write(chunk);
  });
  const { agent, channel, commands, about } = link.welcome;
  const terminal = new TerminalPlatform({
    mode,
    input,
    output,
    channel,
    agent,
    commands,
    speaker,
    multi: false,
    colour: false,
    turns: link.turns,
    isAttached: true,
    about: () => about,
    onInterrupt: () => undefined,
  });
  await terminal.start(link);
  const remarks: string[] = [];
  const running = link.run({
    show: async (id, message) => terminal.edit(id, message),
    said: (author, said) => terminal.overhear(author, said),
    get awaited() {
      return terminal.awaited;
    },
    remark(remark, isUrgent) {
      remarks.push(remark);
      terminal.remark(`(${remark})`, isUrgent);
    },
  });
  // Avoids an unhandled rejection; awaiters still get the error.
  running.catch(() => undefined);
  return {
    link,
    terminal,
    input,
    output,
    remarks,
    written: () => text,
    shown: () => screen.text,
    running,
    async [Symbol.asyncDispose]() {
      link.leave();
      await terminal[Symbol.asyncDispose]();
      await running.catch(() => undefined);
    },
  };
}

/** A script that is attached, as a platform. */
export async function openAttachedHarness(): Promise<PlatformHarness> {
  const served = await serve();
  const chat = await attach(served.socket, "jsonl");
  const write = async (line: object): Promise<void> => {
    chat.input.write(`${JSON.stringify(line)}\n`);
  };
  return {
    platform: served.shared,
    inbox: served.inbox,
    channel: "main",
    isScriptable: true,
    failures: ["unavailable"],
    say: async ({ author = "ana", ...said }: Said) => write({ author, ...said }),
    edit: async (id, text) => write({ edit: id, text }),
    delete: async (id) => write({ delete: id }),
    shown: async () =>
      jsonLines(chat.written()).flatMap(({ type, text }) =>
        (type === "reply" || type === "notice") && typeof text === "string" ? [text] : [],
      ),
    fail: async () => {
      chat.output.destroy();
    },
    async [Symbol.asyncDispose]() {
      await chat[Symbol.asyncDispose]();
      await served[Symbol.asyncDispose]();
    },
  };
}
