import type { Logger } from "pino";
import { describeForChat } from "../../admin/reports/chat-facts.ts";
import { commandTable } from "../../admin/commands/commands.ts";
import { COMMANDS } from "../../features/features.ts";
import type { Config } from "../../config/config.ts";
import { isColourUnwanted } from "../../config/load.ts";
import type { AgentId } from "../../core/ids.ts";
import type { Daemon } from "../../daemon/daemon.ts";
import type { Platform } from "../../platforms/platform.ts";
import { SharedTerminal } from "../../platforms/local/attached/shared-terminal.ts";
import { chooseMode, createProcessTerminal } from "../../platforms/terminal/process-terminal.ts";
import type { TurnFeed, TurnNews } from "../../platforms/terminal/turn-news.ts";
import type { TerminalPlatform } from "../../platforms/terminal/terminal-platform.ts";
import type { Events, WeirEvent } from "../../telemetry/events.ts";
import type { ChatHost } from "../../platforms/local/attached/attached-chat.ts";
import { hostOf, placeAmong } from "./chat-host.ts";
import { prepareChatSocket } from "./chat-socket.ts";
import { firstTimeFormat } from "../shared/open.ts";
import { openTypedHistory } from "./typed-history.ts";

/** A terminal that takes part in a daemon's platforms. */
export interface TerminalSession {
  readonly channel?: string | undefined;
  readonly agent?: string | undefined;
  readonly speaker?: string | undefined;
  readonly multi: boolean;
  readonly jsonl: boolean;
}

export interface TerminalsOptions {
  readonly config: Config;
  /** Answers in the own terminal. */
  readonly agent: AgentId;
  readonly own: TerminalSession | null;
  /** False: the Weir of a chat, which ends with it. */
  readonly isDaemon: boolean;
  /** The reason of a failed turn, and the remedy. */
  readonly explain: (reason: string) => string;
  readonly log: Logger;
}

/** The terminals of a process: its own, and those that attach. */
export class Terminals {
  readonly #options: TerminalsOptions;
  #own: TerminalPlatform | null = null;
  #shared: SharedTerminal | null = null;
  #about: () => readonly string[] = () => [];

  constructor(options: TerminalsOptions) {
    this.#options = options;
  }

  get own(): TerminalPlatform | null {
    return this.#own;
  }

  /** @returns null: there is no terminal, and chats cannot attach */
  open(events: Events): Platform | null {
    const { config, agent, own, isDaemon, explain, log } = this.#options;
    const turns = turnFeed(events, explain);
    if (own !== null) {
      this.#own = createProcessTerminal({
        channel: own.channel ?? agent,
        agent,
        speaker: own.speaker,
        multi: own.multi,
        jsonl: own.jsonl,
        commands: commandTable(COMMANDS),
        noColour: isColourUnwanted(),
        turns,
        exportsTo: config.home,
        about: () => this.#about(),
        history: chooseMode(own.jsonl) === "interactive" ? openTypedHistory(config) : undefined,
      });
    }
    // With an own Postgres each chat has its own Weir, and the socket is the daemon's.
    if (!isDaemon && config.database.url !== null) return this.#own;
    const socket = async (): Promise<string> => prepareChatSocket(config.database.dataDir);
    this.#shared = new SharedTerminal({ own: this.#own, socket, turns, log });
    return this.#shared;
  }

  /** Shows a remark to the people at all terminals. */
  remark(text: string): void {
    this.#shared?.remark(text);
  }

  /**
   * Connects the terminals to their daemon. To be called before the daemon opens.
   * @param hasPage it serves the page
   */
  watch(daemon: Daemon, hasPage: boolean): void {
    const { current } = daemon;
    const { explain, isDaemon, config } = this.#options;
    const facts = (runs: "here" | "daemon" | "chat"): string[] =>
      describeForChat(daemon.status(), firstTimeFormat(current.setup.config), {
        runs,
        home: config.home,
        hasPage,
      });
    this.#about = () => facts("here");
    const nameOf = (agent: string): string =>
      current.setup.config.agents.find(({ id }) => id === agent)?.name ?? agent;
    const placeOf: ChatHost["placeOf"] = (wanted) =>
      placeAmong(current.setup.bindings, current.setup.config.agents)(wanted);
    this.#shared?.hostedBy(
      hostOf(daemon, {
        isOfChat: !isDaemon,
        about: () => facts(isDaemon ? "daemon" : "chat"),
        placeOf,
        nameOf,
        explain,
      }),
    );
  }
}

/** A terminal's news of turns. The person at a terminal is the operator, and gets the reasons of failures. */
function turnFeed(events: Events, explain: TerminalsOptions["explain"]): TurnFeed {
  return {
    on: (listener) =>
      events.on((event) => {
        const news = newsOf(event, explain);
        if (news !== null) listener(news);
      }),
  };
}

function newsOf(event: WeirEvent, explain: TerminalsOptions["explain"]): TurnNews | null {
  switch (event.type) {
    case "turn_settled": {
      const { channel, outcome, reason, inReplyTo } = event;
      const why = outcome === "failed" && reason !== null ? explain(reason) : reason;
      return { type: "settled", news: { channel, outcome, reason: why, inReplyTo } };
    }
    case "emergency":
      return { type: "emergency", news: event };
    case "compaction":
      return { type: "compaction", news: event };
    case "model_retry":
      return { type: "retry", news: event };
    default:
      return null;
  }
}
