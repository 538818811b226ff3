import { z } from "zod";
import type { AskMode } from "../core/ask-mode.ts";
import type { EntryReference, MemoryReference } from "../core/entry.ts";
import type { ToolSpec } from "../core/context.ts";
import type { KitOf } from "../core/feature-key.ts";
import type { AgentId, TurnId } from "../core/ids.ts";
import type { ImageBytes } from "../core/image.ts";
import type { Memory } from "../core/memory.ts";
import type { PlainTool } from "../config/tool-names.ts";
import { parametersOf } from "../llm/tool-parameters.ts";
import type { HistoryFound, HistoryRequest, MessagesRead, ReadRequest } from "../memory/history-search.ts";
import { templateOfTool } from "../prompts/catalogue.ts";
import type { Prompts } from "../prompts/load.ts";

/** Something that the model may ask for. */
export interface Tool {
  readonly spec: ToolSpec;
  /** Longest wait of the turn for it, ms. Default: the general limit. `own`: it has a limit of its own, which may be longer. */
  readonly timeoutMs?: number | "own";
  /** It needs nothing of a turn: where its calls run at once, other work may have it, too. Default: false. */
  readonly isStandalone?: boolean;
  /** When a person must allow a call first. Default: "never". */
  readonly asks?: AskMode;
  /** It changes nothing. Default: it may. */
  readonly isReadOnly?: boolean;
  /**
   * Its results tell what neither the log nor a memory nor a file of Weir's has, so that they may prove a memory. Default: they repeat
   * such texts, or tell nothing.
   */
  readonly findsOut?: true;
  /** The smallest window, in tokens, in which its definition is worth its room. Default: any. */
  readonly leastWindow?: number;
  /** The option that leaves it out, as the file has it. Default: there is none that does only that. */
  readonly leftOutBy?: string;
  /**
   * Checks the arguments without running it, so that people are not asked about a call that cannot run. Default: no check.
   * @throws ToolInputError
   */
  check?(input: unknown): void;
  /** What an agent must be allowed to search to be offered it. Default: no condition. */
  readonly needs?: "messages" | "memories";
  /** What people may see while it runs; null: nothing. Default: its name. */
  readonly shownAs?: string | null;
  /** Another agent does its work. Default: it does not. */
  readonly isDelegation?: true;
  /** It changes which texts of the agent's folder are active in the channel. Default: it does not. */
  readonly changesTexts?: true;
  /** It writes files of the agent's folder. Default: it does not. */
  readonly writesFolder?: true;
  /** Where it comes from, in a word or two. Default: from its server, or it is built in. */
  readonly source?: string;
  /** Name of the server that it comes from. Default: it is Weir's own. */
  readonly server?: string;
  /** Distinguishes it from another tool under the same name: who allows calls of one allows none of the other. Default: the name suffices. */
  readonly identity?: string;
  /**
   * Runs one call.
   * @param input the arguments, parsed from the model's JSON but not checked: the tool does that
   * @throws ToolInputError if the arguments are wrong, ToolFailure if the model is to know the reason; the reason of any other
   * error is only logged. All become results.
   */
  run(input: unknown, context: ToolContext): Promise<ToolOutcome>;
}

/** Whether a person must allow each call of a tool before it runs. Pure. */
export function asksFirst({
  asks = "never",
  isReadOnly = false,
}: Pick<Tool, "asks" | "isReadOnly">): boolean {
  return asks === "always" || (asks === "writes" && !isReadOnly);
}

export type ToolOutcome =
  | {
      readonly kind: "result";
      readonly text: string;
      readonly references: readonly EntryReference[];
      /** Default: empty. */
      readonly memories?: readonly MemoryReference[];
      /** Pictures that the text names by number; a model that sees is shown them while the turn runs. Default: empty. */
      readonly images?: readonly ImageBytes[];
    }
  /** The turn ends without an answer. */
  | { readonly kind: "skip"; readonly reason: string }
  /** The turn ends, and another agent answers. */
  | HandOff;

/** A hand-over to another agent of the channel. */
export interface HandOff {
  readonly kind: "hand_off";
  /** Null: the channel's own agent. */
  readonly to: AgentId | null;
  readonly name: string;
  readonly message: string;
}

/** A tool's access to the turn that runs it. */
export interface ToolContext extends ToolKit {
  readonly signal: AbortSignal;
  /** The model's id of the call, as in the log: the effect of a call is keyed by the turn and this. */
  readonly callId: string;
  /**
   * Key of the call's effect: equal when a turn that runs again makes the same call again, different for every other call.
   * Models give other ids each time.
   */
  readonly effectKey: string;
  /** The turn that asked for the call, where that is another one: a person has allowed it since. */
  readonly askedIn?: TurnId;
  /** Whether pictures are shown to who has called. */
  readonly seesImages: boolean;
  /** Searches messages of the same channel that the model is not shown, until the signal ends it. */
  searchHistory(request: HistoryRequest, signal: AbortSignal): Promise<HistoryFound>;
  /** Reads such messages, in their order. */
  readMessages(request: ReadRequest, signal: AbortSignal): Promise<MessagesRead>;
  /** Memories that fit, best first, until the signal ends it; only those that may be shown in this channel. */
  recallMemories(query: string, limit: number, signal: AbortSignal): Promise<Memory[]>;
}

/** A tool's access to its channel. */
export interface ToolKit {
  /**
   * Adds an emoji to the newest message that is being answered. Idempotent.
   * @param under the platform's id of another message; null: it has no id. Left out: the newest
   * @throws PlatformError if the platform rejects it
   */
  react(emoji: string, under?: string | null): Promise<Reaction>;
  /**
   * Lets another agent answer, once the turn ends.
   * @param request.agent by any of its names
   * @throws ToolFailure if that is not possible
   */
  handOff(request: { readonly agent: string; readonly message: string }): Promise<HandOff>;
  /** The kit of a feature. @throws if the feature is not part of this Weir */
  readonly kitOf: KitOf;
}

/** `unsupported`: the platform has no reactions. `gone`: the message was deleted. `enough`: several were tried already. */
export type Reaction = "shown" | "unsupported" | "gone" | "enough";

export interface ToolDefinition<Input> extends Omit<
  Tool,
  "spec" | "asks" | "check" | "server" | "identity" | "run"
> {
  /** The name for the model. Its description is `prompts/en/tool-NAME.md.j2`. */
  readonly name: PlainTool;
  readonly input: z.ZodType<Input>;
  run(input: Input, context: ToolContext): Promise<ToolOutcome>;
}

/** Makes a tool with the texts of the prompts. */
export interface ToolMaker {
  (prompts: Prompts): Tool;
  readonly tool: PlainTool;
}

/** Makes a tool whose description names those that its agent has beside it. */
export type DescribedToolMaker = (prompts: Prompts, beside: readonly Tool[]) => Tool;

/** Makes a tool of its definition: its arguments are checked before it runs. */
export function defineTool<Input>(definition: ToolDefinition<Input>): ToolMaker {
  const template = templateOfTool(definition.name);
  return Object.assign(
    (prompts: Prompts) => makeTool({ ...definition, description: prompts.render(template, {}) }),
    { tool: definition.name },
  );
}

/** The same, of a tool with any name, with its description. */
export function makeTool<Input>(
  definition: Omit<ToolDefinition<Input>, "name"> & Pick<ToolSpec, "name" | "description">,
): Tool {
  const { name, description, input, run, isStandalone = false, ...traits } = definition;
  const parse = (given: unknown): Input => {
    const parsed = input.safeParse(given);
    if (!parsed.success) throw new ToolInputError(z.prettifyError(parsed.error));
    return parsed.data;
  };
  return {
    spec: { name, description, parameters: parametersOf(input) },
    ...traits,
    isStandalone,
    check: (given) => void parse(given),
    run: async (given, context) => run(parse(given), context),
  };
}

/** The model's arguments are wrong; the message says what to change. */
export class ToolInputError extends Error {}

/** The request cannot be done; the message explains it to the model, with alternatives. The cause is for the log. */
export class ToolFailure extends Error {}
