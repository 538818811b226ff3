import { abortedAfter } from "../../async/deadline.ts";
import type { Revision } from "../../core/memory.ts";
import type { ChannelId } from "../../core/ids.ts";
import type { ToolSpec } from "../../core/context.ts";
import { escapeLabels } from "../../context/labels.ts";
import { type ModelCallRecord, ModelError } from "../../llm/model.ts";
import {
  type NumberedMemory,
  readRevisions,
  revisionParameters,
  type RevisionTask,
  revisionTask,
} from "../../memory/revisions.ts";
import type { RevisionStore, Unjudged } from "../../store/memory/revisions.ts";
import { displayName } from "../../text/text.ts";
import type { Circuit } from "../breaker.ts";
import type { Summariser } from "../summariser.ts";
import { estimateRequest } from "../summary/writer.ts";

export interface ReviserParts {
  readonly revisions: RevisionStore;
  readonly agent: Summariser;
  readonly breaker: Circuit;
  readonly onAttempt: (model: string, estimatedTokens: number) => void;
  readonly onCall: (record: ModelCallRecord, estimatedTokens: number) => void;
}

/** Tokens of an answer, beside the model's reasoning. */
const MOST_OUTPUT = 1024;
/** Tokens kept free, since estimates may be slightly low. */
const SLACK_TOKENS = 512;

/**
 * Asks a summariser which older memories of a channel its new ones change. It is a request of its own, behind a commit: the summariser of
 * a stretch reads nothing that was said elsewhere, and of this answer numbers alone are kept.
 */
export class Reviser {
  readonly #parts: ReviserParts;

  constructor(parts: ReviserParts) {
    this.#parts = parts;
  }

  /** A model that fails is asked again with the next memories. @throws errors of the database */
  async revise(channel: ChannelId, ending: AbortSignal): Promise<void> {
    const { revisions } = this.#parts;
    const unjudged = await revisions.unjudged(channel);
    if (unjudged === null) return;
    const found = await this.#ask(unjudged, ending);
    if (found !== null) await revisions.revise(channel, unjudged.upTo, found);
  }

  /** Null: no model answers. */
  async #ask(unjudged: Unjudged, ending: AbortSignal): Promise<readonly Revision[] | null> {
    const { agent, breaker, onAttempt, onCall } = this.#parts;
    if (revisionTask(unjudged.fresh, unjudged.known) === null) return [];
    const configured = agent.modelNames().find((name) => breaker.admit(name));
    if (configured === undefined) return null;
    const signal = AbortSignal.any([ending, abortedAfter(agent.compaction.deadlineMs)]);
    const tools = [
      { name: "memory_revise", description: agent.texts.memoryRevise, parameters: revisionParameters },
    ];
    try {
      const model = await agent.resolve(configured, signal);
      const windowTokens = agent.windowOf(model, configured);
      const eighth = Math.floor(windowTokens / 8);
      const maxOutputTokens = Math.min(MOST_OUTPUT, eighth) + Math.min(agent.thinkingAllowance, eighth);
      const fitting = this.#fitting(unjudged, tools, windowTokens - maxOutputTokens - SLACK_TOKENS);
      if (fitting === null) return [];
      const { task, messages, estimated } = fitting;
      const answer = await agent.model.answer(
        {
          model,
          messages,
          tools,
          toolChoice: "auto",
          maxOutputTokens,
          temperature: undefined,
          task: "revise",
        },
        {
          signal,
          onAttempt: (name) => onAttempt(name, estimated),
          onCall: (record) => onCall(record, estimated),
        },
      );
      breaker.succeeded(configured);
      return answer.calls.flatMap(({ name, arguments: json }) =>
        name === "memory_revise" ? readRevisions(json, task) : [],
      );
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      // It refuses a request of this form, or says nothing: it would the next time, too.
      if (error.kind === "context_length" || error.kind === "empty") return [];
      if (!ending.aborted) breaker.failed(configured);
      return null;
    }
  }

  /** The request about as many new memories as fit; null: not even one does. */
  #fitting({ fresh, known }: Unjudged, tools: readonly ToolSpec[], room: number) {
    for (let count = fresh.length; count > 0; count = Math.floor(count / 2)) {
      const task = revisionTask(fresh.slice(0, count), known);
      if (task === null) return null;
      const messages = [{ role: "user", text: this.#textOf(task) }] as const;
      const estimated = estimateRequest(messages, tools);
      if (estimated <= room) return { task, messages, estimated };
    }
    return null;
  }

  #textOf({ fresh, older }: RevisionTask): string {
    const { time, texts } = this.#parts.agent;
    const line = ({ number, at, assertedBy, type, statement }: NumberedMemory): string =>
      `${number}. [${time.day(at)}] ${displayName(assertedBy)} (${type}): ${escapeLabels(statement)}`;
    return texts.revise({ fresh: fresh.map(line), older: older.map(line) });
  }
}
