import { z } from "zod";
import type { ApprovalMode } from "../core/approval.ts";
import type { EntryReference, MemoryReference } from "../core/entry.ts";
import type { ToolSpec } from "../core/context.ts";
import type { AgentId } from "../core/ids.ts";
import type { ImageBytes } from "../core/image.ts";
import type { Memory } from "../core/memory.ts";
import type { PlainTool } from "../core/tool-names.ts";
import { parametersOf } from "../llm/tool-parameters.ts";
import { templateOfTool } from "../prompts/catalogue.ts";
import type { Prompts } from "../prompts/load.ts";

/** Something that the model may ask for. */
export interface Tool {
  readonly spec: ToolSpec;
  /** The turn waits no longer for it, ms. Default: as long as for any. `own`: it sees to that itself, and may take longer. */
  readonly timeoutMs?: number | "own";
  /** A subagent may have it where nobody has to allow its calls: it needs nothing of the conversation. Default: false. */
  readonly forSubagents?: boolean;
  /** Whether a person has to allow each call first; the configuration goes over it. Default: "never". */
  readonly approve?: ApprovalMode;
  /** It changes nothing. Default: it may. */
  readonly isReadOnly?: boolean;
  /**
   * Whether the arguments are right, without running it: nobody is asked to allow a call that cannot run. Default: not known.
   * @throws ToolInputError
   */
  check?(input: unknown): void;
  /** What an agent must have to be offered it. Default: nothing. */
  readonly needs?: ToolNeed;
  /** Where it comes from: the name of a server. Default: it is Weir's own. */
  readonly server?: string;
  /** Tells it from another tool that had or gets its name: nobody has allowed the calls of that. Default: there is none. */
  readonly identity?: string;
  /**
   * Runs one call.
   * @param input the arguments, parsed from the model's JSON but not checked: the tool does that
   * @throws ToolInputError if the arguments are wrong, ToolFailure where the model is to know why it failed; anything
   * else is a failure that only the log tells. All become results.
   */
  run(input: unknown, context: ToolContext): Promise<ToolOutcome>;
}

/** A folder to write notes to, skills, leave to set reminders, or leave to look up messages or memories. */
export type ToolNeed = "notes" | "skills" | "reminders" | "messages" | "memories";

export type ToolOutcome =
  | {
      readonly kind: "result";
      readonly text: string;
      readonly references: readonly EntryReference[];
      /** Default: none. */
      readonly memories?: readonly MemoryReference[];
      /** Which the text names, by number; shown to a model that sees, while the turn runs. Default: none. */
      readonly images?: readonly ImageBytes[];
    }
  /** The turn ends without an answer. */
  | { readonly kind: "skip"; readonly reason: string }
  /** The turn ends, and another agent answers. */
  | HandOff;

/** Something that an agent hands over to another one of its channel. */
export interface HandOff {
  readonly kind: "hand_off";
  /** Null: the channel's own agent. */
  readonly to: AgentId | null;
  /** Its name. */
  readonly name: string;
  readonly message: string;
}

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
  /** Whether pictures are shown to who has called. */
  readonly seesImages: boolean;
  /** Entries of the same channel that match, best first, until the signal ends it; hidden and visible ones alike. */
  searchHistory(query: string, limit: number, signal: AbortSignal): Promise<EntryReference[]>;
  /** Memories that fit, best first, until the signal ends it; only those that may be shown in this channel. */
  recallMemories(query: string, limit: number, signal: AbortSignal): Promise<Memory[]>;
}

/** What a channel lets the tools of its turns do. */
export interface ToolKit {
  /**
   * Puts an emoji under the newest message that is being answered. Once or twice is the same.
   * @param under the platform's id of another message; null: there is none. Left out: the newest
   * @throws PlatformError if the platform does not take it
   */
  react(emoji: string, under?: string | null): Promise<Reaction>;
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
  /**
   * Lets another agent answer; it happens with the turn's end.
   * @param request.agent by any of its names
   * @throws ToolFailure where it cannot be done
   */
  handOff(request: { readonly agent: string; readonly message: string }): Promise<HandOff>;
  /**
   * Has a subagent do something, and waits for it a while. @returns what the model is told
   * @throws ToolFailure where none was begun
   */
  spawnAgent(request: SpawnRequest, call: Pick<ToolContext, "callId" | "signal">): Promise<string>;
  /**
   * Sets a reminder in this channel. @returns what the model is told
   * @throws ToolFailure where none was set
   */
  setReminder(request: ReminderRequest): Promise<string>;
}

/** What an agent wants of a subagent. */
export interface SpawnRequest {
  readonly task: string;
  /** A name of the configuration; null: none. */
  readonly persona: string | null;
  /** Null: the agent's own. */
  readonly model: string | null;
  /** Names; null: all that a subagent may have. */
  readonly tools: readonly string[] | null;
  /** `brief`: it is told of the conversation. */
  readonly context: "none" | "brief";
}

/** What somebody wants to be reminded of: one of `at`, `in` and `cron` says when. */
export interface ReminderRequest {
  /** `18:30`, `2026-12-01 09:00`. */
  readonly at?: string | undefined;
  /** `20m`. */
  readonly in?: string | undefined;
  readonly cron?: string | undefined;
  /** An IANA name; default: the agent's. */
  readonly timeZone?: string | undefined;
  readonly text: string;
  /** The call that asks for it. */
  readonly callId: string;
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
  /** As the model calls it. What the model reads of it is `prompts/en/tool-NAME.md.j2`. */
  readonly name: PlainTool;
  readonly input: z.ZodType<Input>;
  readonly timeoutMs?: Tool["timeoutMs"];
  readonly forSubagents?: boolean;
  readonly isReadOnly?: boolean;
  readonly needs?: ToolNeed;
  run(input: Input, context: ToolContext): Promise<ToolOutcome>;
}

/** Makes a tool of its definition: its arguments are checked before it runs. */
export function defineTool<Input>(definition: ToolDefinition<Input>): (prompts: Prompts) => Tool {
  const template = templateOfTool(definition.name);
  return (prompts) => makeTool({ ...definition, description: prompts.render(template, {}) });
}

/** The same, of a tool with any name, with its description. */
export function makeTool<Input>(
  definition: Omit<ToolDefinition<Input>, "name"> & Pick<ToolSpec, "name" | "description">,
): Tool {
  const { name, description, input, timeoutMs, forSubagents = false, isReadOnly, needs } = definition;
  const parse = (given: unknown): Input => {
    const parsed = input.safeParse(given);
    if (!parsed.success) throw new ToolInputError(z.prettifyError(parsed.error));
    return parsed.data;
  };
  return {
    spec: { name, description, parameters: parametersOf(input) },
    ...(timeoutMs !== undefined && { timeoutMs }),
    forSubagents,
    ...(isReadOnly !== undefined && { isReadOnly }),
    ...(needs !== undefined && { needs }),
    check: (given) => void parse(given),
    run: async (given, context) => definition.run(parse(given), context),
  };
}

/** The model's arguments do not fit: the message tells it what to change. */
export class ToolInputError extends Error {}

/** What was asked for cannot be done: the message tells the model so, and what else it may do; the cause is for the log. */
export class ToolFailure extends Error {}
