import type { Writable } from "node:stream";
import type { OutboundMessage } from "../../../core/message.ts";
import type { PlatformCapabilities, PlatformCommand, PlatformInbox } from "../../platform.ts";
import type { Output } from "../output.ts";
import type { TerminalInput } from "../typed/paste-filter.ts";
import type { PendingMessages } from "../pending-messages.ts";
import type { CompactionNews, RetryNews, SettledTurn } from "../turn-news.ts";

/** One way to hold a conversation over two streams. Channels are named without their platform here. */
export interface Presenter {
  readonly streaming: PlatformCapabilities["streaming"];
  serves(channel: string): boolean;
  /** Opens the intake. Resolves at the end of the input; where that is awaited, once earlier messages have ended. */
  run(inbox: PlatformInbox): Promise<void>;
  /** Accepts no new input. Resolves once no message is on its way into the log. */
  stopIntake(): Promise<void>;
  /**
   * Shows a new text (an unknown `id`), or replaces the text of that id. Resolves once it is written.
   * @throws OutputClosedError
   */
  show(id: string, message: OutboundMessage): Promise<void>;
  /** @throws OutputClosedError */
  settled(channel: string, turn: SettledTurn): Promise<void>;
  /** @throws OutputClosedError */
  emergency(channel: string, omitted: number): Promise<void>;
  /** @throws OutputClosedError */
  compaction(channel: string, news: CompactionNews): Promise<void>;
  /**
   * Shows a person a remark that belongs to no channel; a script does not get it.
   * @param isUrgent it does not wait for the end of an answer that is being written
   * @throws OutputClosedError
   */
  remark(text: string, isUrgent?: boolean): Promise<void>;
  /** The model is asked again. */
  retrying(channel: string, news: RetryNews): void;
}

/** Lines typed in earlier sessions. */
export interface InputHistory {
  /** The newest first. */
  readonly lines: readonly string[];
  /** Keeps a text, unless it may hold a secret. Must not throw. */
  add(text: string): void;
  /** Forgets all of it. Must not throw. */
  clear(): void;
}

/** The parts that every presenter works with. */
export interface Session {
  readonly input: TerminalInput;
  readonly output: Output;
  /** The same stream as `output`, for those who draw. */
  readonly screen: Writable & { readonly columns?: number; readonly rows?: number };
  readonly pending: PendingMessages;
  /** The session's own channel, without its platform; in `jsonl` for lines without a channel. */
  readonly channel: string;
  /** The agent's id: only shown. */
  readonly agent: string;
  /** The author of messages that name no speaker. */
  readonly speaker: string;
  /** Several people share the terminal: `name: text` speaks as that name. */
  readonly multi: boolean;
  /** Weir continues after the session's end. */
  readonly isAttached: boolean;
  /** Slash commands of every platform. */
  readonly commands: readonly PlatformCommand[];
  /** Only `interactive` uses it. */
  readonly colour: boolean;
  /** Facts for the person at the terminal, one a line, at the start of an `interactive` session. */
  readonly about: () => readonly string[];
  /** Folder of exports without a name. */
  readonly exportsTo: string;
  readonly now: () => Date;
  /** Makes message ids: unique over restarts. */
  readonly newId: () => string;
  /** Default: no history is kept. */
  readonly history?: InputHistory | undefined;
  /** The person leaves: a Ctrl-C that follows ends the process at once. */
  readonly onInterrupt: () => void;
}
