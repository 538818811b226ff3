import type { CompactionConfig } from "../config/config.ts";
import type { WindowEvidence } from "../llm/catalog/window-evidence.ts";
import type { RetryingModel } from "../llm/retrying-model.ts";
import type { Digester } from "../store/compaction/extracts.ts";
import type { WorkerAgent } from "./summary/summary-attempt.ts";

/** The parts of a channel's agent that compaction uses. */
export interface Summariser extends WorkerAgent {
  readonly compaction: CompactionConfig;
  readonly model: RetryingModel;
  readonly digester: Digester;
  readonly thinkingAllowance: number;
  readonly maxCalls: number;
  noticeText(messages: number): string;
  /** The configured summariser, then the fallbacks. */
  modelNames(): readonly string[];
  /** The server's name of a configured model. @throws ModelError */
  resolve(configured: string, signal: AbortSignal): Promise<string>;
  /**
   * Tokens of a summariser's window.
   * @param model the server's name
   * @param configured the same model, as one of {@link modelNames}
   */
  windowOf(model: string, configured: string): number;
  evidenceOf(model: string): WindowEvidence;
}
