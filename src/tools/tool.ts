import { z } from "zod";
import type { EntryReference, MemoryReference } from "../core/entry.ts";
import type { ToolSpec } from "../core/context.ts";
import type { Memory } from "../core/memory.ts";
import type { TemplateName } from "../prompts/catalogue.ts";
import type { Prompts } from "../prompts/load.ts";

/** Something that the model may ask for. */
export interface Tool {
  readonly spec: ToolSpec;
  /** The turn waits no longer for it, ms. Default: as long as for any. */
  readonly timeoutMs?: number;
  /** Which calls wait for a person's word. Default: none. */
  readonly approve?: "always" | "never" | "writes";
  /** It changes nothing, by the word of whoever made it. */
  readonly isReadOnly?: boolean;
  /** Where it comes from: the name of a server. Default: it is Weir's own. */
  readonly server?: string;
  /**
   * Runs one call.
   * @param input the arguments, parsed from the model's JSON but not checked: the tool does that
   * @throws ToolInputError if the arguments are wrong, ToolFailure where the model is to know why it failed; anything
   * else is a failure that only the log tells. All become results.
   */
  run(input: unknown, context: ToolContext): Promise<ToolOutcome>;
}

export type ToolOutcome =
  | {
      readonly kind: "result";
      readonly text: string;
      readonly references: readonly EntryReference[];
      /** Default: none. */
      readonly memories?: readonly MemoryReference[];
    }
  /** The turn ends without an answer. */
  | { readonly kind: "skip"; readonly reason: string };

/** What a tool may use of the turn that runs it. */
export interface ToolContext extends ToolKit {
  readonly signal: AbortSignal;
  /** The model's id of the call, as the log has it: what a call does is keyed by the turn and this. */
  readonly callId: string;
  /**
   * Names what the call does: the same where a turn that runs again asks for the same again, and another one for each other call.
   * Models give other ids each time.
   */
  readonly effectKey: string;
  /** Entries of the same channel that match, best first, until the signal ends it; hidden and visible ones alike. */
  searchHistory(query: string, limit: number, signal: AbortSignal): Promise<EntryReference[]>;
  /** Memories that fit, best first, until the signal ends it; only those that may be shown in this channel. */
  recallMemories(query: string, limit: number, signal: AbortSignal): Promise<Memory[]>;
}

/** What a channel lets the tools of its turns do. */
export interface ToolKit {
  /**
   * Puts an emoji under the newest message that is being answered. Once or twice is the same.
   * @throws PlatformError if the platform does not take it
   */
  react(emoji: string): Promise<Reaction>;
  /**
   * Changes the agent's notes of this channel. @returns what the model is told
   * @throws ToolFailure where nothing was written
   */
  writeNote(request: NoteRequest): Promise<string>;
  /**
   * Takes up or lays down a skill in this channel, or reads a file of one. @returns what the model is told
   * @throws ToolFailure where it cannot be done
   */
  useSkill(request: SkillRequest): Promise<string>;
}

/** What an agent wants of one of its skills. */
export type SkillRequest =
  | { readonly kind: "activate" | "deactivate"; readonly name: string }
  | { readonly kind: "read"; readonly name: string; readonly file: string };

/** A line that an agent wants in its notes of a channel. */
export interface NoteRequest {
  /** `memory`: the lasting notes; `note`: those of the day. */
  readonly kind: "memory" | "note";
  /** "": the line that it replaces goes. */
  readonly text: string;
  /** Words of a line that the agent has written; null: none is replaced. */
  readonly replaces: string | null;
}

/** `unsupported`: the platform has no reactions. `gone`: the message was taken back. `enough`: several were tried already. */
export type Reaction = "shown" | "unsupported" | "gone" | "enough";

/** What a tool's own file says of it. */
export interface ToolDefinition<Input> {
  /** As the model calls it. */
  readonly name: string;
  /** The template of the description that the model reads. */
  readonly description: Extract<TemplateName, `tool-${string}`>;
  readonly input: z.ZodType<Input>;
  readonly timeoutMs?: number;
  run(input: Input, context: ToolContext): Promise<ToolOutcome>;
}

/** Makes a tool of its definition: its arguments are checked before it runs. */
export function defineTool<Input>(definition: ToolDefinition<Input>): (prompts: Prompts) => Tool {
  const { name, description, input, timeoutMs } = definition;
  return (prompts) => ({
    spec: { name, description: prompts.render(description, {}), parameters: parametersOf(input) },
    ...(timeoutMs !== undefined && { timeoutMs }),
    async run(given, context) {
      const parsed = input.safeParse(given);
      if (!parsed.success) throw new ToolInputError(z.prettifyError(parsed.error));
      return definition.run(parsed.data, context);
    },
  });
}

/** The JSON Schema of a tool's arguments, without its dialect: no model needs that, and each request would pay for it. */
function parametersOf(input: z.ZodType): ToolSpec["parameters"] {
  const { $schema: _dialect, ...parameters } = z.toJSONSchema(input, { io: "input" });
  return parameters;
}

/** The model's arguments do not fit: the message tells it what to change. */
export class ToolInputError extends Error {}

/** What was asked for cannot be done: the message tells the model so, and what else it may do; the cause is for the log. */
export class ToolFailure extends Error {}
