import { pause, steadyNow } from "../async/clock.ts";
import { isColourUnwanted, loadReadableConfig } from "../config/load.ts";
import { OperatorError } from "../core/errors.ts";
import { DaemonLink } from "../platforms/terminal/attached/daemon-link.ts";
import type { InputHistory } from "../platforms/terminal/presenter.ts";
import { chooseMode, createProcessTerminal } from "../platforms/terminal/process-terminal.ts";
import { withDeadline } from "../async/deadline.ts";
import { findChatSocket } from "./chat-socket.ts";
import { displayable } from "../text/displayable.ts";
import { Spinner } from "./progress.ts";
import { aborted, type CommonOptions, type Io } from "./io.ts";
import { tellOfBroken } from "./readable-config.ts";
import { openTypedHistory } from "./typed-history.ts";

export type ChatOptions = CommonOptions & {
  readonly channel?: string;
  readonly agent?: string;
  readonly as?: string;
  readonly multi?: boolean;
  readonly jsonl?: boolean;
};

/** How long a daemon that is gone is waited for, ms: a process manager starts it again, with pauses that grow. */
const PATIENCE_MS = 120_000;
/** How long a chat that leaves waits for word that what it said is stored, ms. */
const LEAVE_MS = 5000;
/** How long a daemon that starts is waited for, and how often it is looked for, ms. */
const START_MS = 10_000;
const LOOK_MS = 100;

/**
 * `weir chat`: talk to an agent here, through the daemon that runs on the data folder, or in a Weir of its own where none does. Nothing
 * of a daemon is read in the first case.
 */
export async function chat(io: Io, options: ChatOptions): Promise<void> {
  const { config, error: broken } = loadReadableConfig({ cwd: io.cwd, file: options.config });
  const { database } = config;
  const link = await attach(database.dataDir, options);
  if (link !== null) {
    // Whether what is typed may be kept stands in it.
    const history = broken === null ? openTypedHistory(config) : undefined;
    if (broken !== null) tellOfBroken(io, broken);
    return await chatOver(io, link, history, options);
  }
  // A Weir of its own acts by it.
  if (broken !== null) throw broken;
  const { chatAlone } = await import("./session.ts");
  try {
    await chatAlone(io, config, options);
  } catch (error) {
    const starting = isFolderTaken(error) ? await untilStarted(io, database.dataDir, options) : null;
    if (starting === null) throw error;
    await chatOver(io, starting, openTypedHistory(config), options);
  }
}

/** @returns null: no daemon runs there that a chat can attach to */
async function attach(dataDir: string, options: ChatOptions): Promise<DaemonLink | null> {
  const { channel = null, agent = null, multi = false, jsonl = false } = options;
  return await DaemonLink.open({
    hello: {
      channel,
      agent,
      // As the chat's messages say it.
      kind: multi || jsonl ? "channel" : "dm",
      opensAtOnce: !jsonl || channel !== null,
      streams: chooseMode(jsonl) === "interactive",
    },
    findSocket: async () => findChatSocket(dataDir),
    patienceMs: PATIENCE_MS,
  });
}

/** Something has the data folder: a daemon that starts takes chats in a moment. @returns null: it does not */
async function untilStarted(io: Io, dataDir: string, options: ChatOptions): Promise<DaemonLink | null> {
  using _ = new Spinner(io.stderr, "Another Weir has the data folder; waiting for it to take chats");
  const until = steadyNow() + START_MS;
  while (steadyNow() < until && !io.shutdown.aborted) {
    const link = await attach(dataDir, options);
    if (link !== null) return link;
    await pause(LOOK_MS, io.shutdown);
  }
  return null;
}

/** By its name: the class would have the database's code read before it is known whether that is needed. */
function isFolderTaken(error: unknown): boolean {
  return error instanceof OperatorError && error.name === "FolderTakenError";
}

/** Holds the conversation until the person leaves, or the daemon is gone for good. */
async function chatOver(
  io: Io,
  link: DaemonLink,
  history: InputHistory | undefined,
  options: ChatOptions,
): Promise<void> {
  const { as: speaker, multi = false, jsonl = false } = options;
  const { agent, about, channel, commands } = link.welcome;
  const mode = chooseMode(jsonl);
  const terminal = createProcessTerminal({
    channel,
    agent,
    speaker,
    multi,
    jsonl,
    commands,
    noColour: isColourUnwanted(),
    turns: link.turns,
    isAttached: true,
    about: () => about,
    history: mode === "interactive" ? history : undefined,
  });
  link.turns.on(({ type, news }) => {
    // What a person is told beside the sentence in the channel; a script reads its answers from the other stream.
    if (mode !== "interactive" && type === "settled" && news.outcome === "failed" && news.reason !== null)
      io.stderr.write(`${displayable(news.reason)}\n`);
  });
  await terminal.start(link);
  const running = link.run({
    show: async (id, message) => terminal.edit(id, message),
    get awaited() {
      return terminal.awaited;
    },
    said: (author, text) => terminal.overhear(author, text),
    remark(text, isUrgent) {
      if (mode === "interactive") terminal.remark(`(${text})`, isUrgent);
      else if (isUrgent) io.stderr.write(`${text}\n`);
    },
  });
  try {
    await Promise.race([running, terminal.closed, aborted(io.shutdown)]);
  } finally {
    if (!link.isConnected) link.leave();
    await withDeadline(terminal.stopIntake(), LEAVE_MS);
    link.leave();
    await terminal[Symbol.asyncDispose]();
    await running.catch(() => undefined);
  }
}
