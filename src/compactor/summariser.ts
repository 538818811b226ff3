import type { CompactionConfig } from "../config/config.ts";
import type { Model } from "../llm/model.ts";
import type { Digester } from "../store/compaction/extracts.ts";
import type { WorkerAgent } from "./summary/summary-attempt.ts";

/** What compaction needs of the agent that answers a channel. */
export interface Summariser extends WorkerAgent {
  readonly compaction: CompactionConfig;
  readonly model: Model;
  readonly digester: Digester;
  /** Tokens that a summariser may think before it writes. */
  readonly thinkingAllowance: number;
  /** Model calls that one attempt may take, all parts of a long range together. */
  readonly maxCalls: number;
  /** What people are told where they are told of a compaction. */
  noticeText(messages: number): string;
  /** The configured summariser, then the fallbacks. */
  modelNames(): readonly string[];
  /** The server's name of a configured model. @throws ModelError */
  resolve(configured: string, signal: AbortSignal): Promise<string>;
  /** Tokens of a summariser's window. */
  windowOf(model: string): number;
}
