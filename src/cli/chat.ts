import { pause, steadyNow } from "../async/clock.ts";
import { isColourUnwanted, loadReadableConfig } from "../config/load.ts";
import { OperatorError } from "../core/errors.ts";
import { DaemonLink, HostLeftError } from "../platforms/local/attached/daemon-link.ts";
import type { InputHistory } from "../platforms/terminal/presenters/presenter.ts";
import { chooseMode, createProcessTerminal } from "../platforms/terminal/process-terminal.ts";
import { withDeadline } from "../async/deadline.ts";
import { findChatSocket } from "./chat/chat-socket.ts";
import { displayable } from "../text/displayable.ts";
import { Spinner } from "./shared/progress.ts";
import { aborted, type CommonOptions, type Io } from "./shared/io.ts";
import { placeOf, tellOfBroken } from "./shared/readable-config.ts";
import { openTypedHistory } from "./chat/typed-history.ts";

export type ChatOptions = CommonOptions & {
  readonly channel?: string;
  readonly agent?: string;
  readonly as?: string;
  readonly multi?: boolean;
  readonly jsonl?: boolean;
};

/** Longest wait for a daemon that has ended, ms: a process manager starts it again, with growing pauses. */
const PATIENCE_MS = 120_000;
/** Longest wait of a leaving chat for the confirmation that its messages are stored, ms. */
const LEAVE_MS = 5000;
/** How long a daemon that starts is waited for, and how often it is looked for, ms. */
const START_MS = 10_000;
const LOOK_MS = 100;

/**
 * `weir chat`: talk to an agent here, through the Weir that runs on the data folder, or in one of its own if there is none. The
 * first case loads no code of the daemon.
 */
export async function chat(io: Io, options: ChatOptions): Promise<void> {
  const { config, error: broken } = loadReadableConfig(placeOf(io, options));
  const { dataDir } = config.database;
  // Whether what is typed may be kept stands in it.
  const history = (): InputHistory | undefined => (broken === null ? openTypedHistory(config) : undefined);
  let link = await attach(dataDir, options);
  if (link !== null && broken !== null) tellOfBroken(io, broken);
  while (!io.shutdown.aborted) {
    if (link !== null) {
      if ((await chatOver(io, link, { history, home: config.home }, options)) === "over") return;
      link = await attach(dataDir, options);
      continue;
    }
    // A Weir of its own acts by it.
    if (broken !== null) throw broken;
    const { readComer } = await import("../store/database/succession.ts");
    if (readComer(dataDir)?.isWaiting === true) link = await untilServing(io, dataDir, options);
    if (link !== null) continue;
    const { chatAlone } = await import("./start.ts");
    try {
      if (!(await chatAlone(io, config, options))) return;
      link = await untilServing(io, dataDir, options);
    } catch (error) {
      const next = isFolderTaken(error) ? await untilFree(io, dataDir, options) : null;
      if (next === null) throw error;
      link = next === "free" ? null : next;
    }
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

/**
 * Another process has the data folder: a starting Weir will soon accept chats, and an ending one releases the folder.
 * @returns null: neither
 */
async function untilFree(io: Io, dataDir: string, options: ChatOptions): Promise<DaemonLink | "free" | null> {
  const { acquireDataLock } = await import("../store/database/data-lock.ts");
  using _ = new Spinner(
    io.stderr,
    "Another Weir has the data folder; waiting for it to take chats, or to end",
  );
  const until = steadyNow() + START_MS;
  while (steadyNow() < until && !io.shutdown.aborted) {
    const link = await attach(dataDir, options);
    if (link !== null) return link;
    try {
      await using _lock = await acquireDataLock(dataDir);
      return "free";
    } catch (error) {
      if (!isFolderTaken(error)) throw error;
    }
    await pause(LOOK_MS, io.shutdown);
  }
  return null;
}

/**
 * A daemon takes over the data folder, and will soon accept chats.
 * @returns null: it has ended instead, or takes too long
 */
async function untilServing(io: Io, dataDir: string, options: ChatOptions): Promise<DaemonLink | null> {
  const { readComer } = await import("../store/database/succession.ts");
  using _ = new Spinner(io.stderr, "A daemon takes over; waiting for it to take chats");
  const until = steadyNow() + PATIENCE_MS;
  while (steadyNow() < until && !io.shutdown.aborted && readComer(dataDir) !== null) {
    const link = await attach(dataDir, options);
    // Not the chat that makes way for it.
    if (link?.welcome.isOfChat === false) return link;
    link?.leave();
    await pause(LOOK_MS, io.shutdown);
  }
  return null;
}

/** By its name: the class would have the database's code read before it is known whether that is needed. */
function isFolderTaken(error: unknown): boolean {
  return error instanceof OperatorError && error.name === "FolderTakenError";
}

/**
 * Holds the conversation until the person leaves, or the daemon has ended for good.
 * @returns `left`: the Weir was another chat's, which has left, and the person has not
 */
async function chatOver(
  io: Io,
  link: DaemonLink,
  { history, home }: { readonly history: () => InputHistory | undefined; readonly home: string },
  options: ChatOptions,
): Promise<"over" | "left"> {
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
    exportsTo: home,
    about: () => about,
    history: mode === "interactive" ? history() : undefined,
  });
  link.turns.on(({ type, news }) => {
    // The reason, beside the sentence in the channel. On stderr, because a script reads its answers from stdout.
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
    return "over";
  } catch (error) {
    // Input of a script may be lost with the host, so the script has to know.
    if (!(error instanceof HostLeftError) || mode !== "interactive") throw error;
    terminal.remark("(It has ended; going on here.)", true);
    return "left";
  } finally {
    if (!link.isConnected) link.leave();
    await withDeadline(terminal.stopIntake(), LEAVE_MS);
    link.leave();
    await terminal[Symbol.asyncDispose]();
    await running.catch(() => undefined);
  }
}
