import type { Asked } from "../support/platform.ts";

/** A library that the bench installs. */
export type LibraryName = "langgraph" | "mastra";
export type PeerName = "weir" | "bare" | LibraryName;

/** One way in which a peer holds its conversations. */
export interface Arm {
  readonly id: string;
  readonly model: string;
  readonly summariser: string;
  /** Weir's `cache_markers` for both models. */
  readonly markers?: string;
  /** LangGraph's summariser reads this many tokens of what it replaces; default: LangChain's own. */
  readonly summariserReads?: number;
}

export interface PeerOptions {
  readonly databaseUrl: string;
  readonly modelUrl: string;
  /** The instructions of a peer that has none of its own. */
  readonly instructions: string;
  /** Tokens of the models' context. */
  readonly window: number;
  /** The peer's own, empty at first. */
  readonly folder: string;
  readonly arms: readonly Arm[];
}

export interface Said {
  readonly role: "user" | "assistant";
  readonly text: string;
}

/** What an adapter's `open` returns: one peer in its own process. */
export interface OpenPeer {
  /** Resolves once the answer is handed over; its own times, or only whether it is an answer. */
  ask(arm: string, room: string, text: string): Promise<Asked | boolean>;
  /** What the peer's database has of a conversation. */
  history?(arm: string, room: string): Promise<readonly Said[]>;
  /** Continues what an ended process left, by the peer's documented call for it. */
  resume?(arm: string, room: string): Promise<void>;
  /** Requests of a bare turn are this long. */
  setBytes?(bytes: number): void;
}

/** People talk in some rooms: in each, the next message follows the answer to the one before. */
export interface Talk {
  readonly arm: string;
  readonly rooms: readonly string[];
  /** Messages in each room; the first to end ends it, this or the time. */
  readonly count: number;
  readonly forMs: number;
  /** Time between two messages in a room, where answers are faster. */
  readonly paceMs: number;
  readonly characters: number;
}

export interface Talked {
  readonly turns: readonly Turn[];
  /** Processor time of the peer's process, its threads included. */
  readonly cpuMs: number;
}

/** One answered message; times in ms by `machineNow`. */
export type Turn = Pick<Asked, "handedInAt" | "answeredAt" | "isAnswer">;
