import type { z } from "zod";
import type { ConfigProblem } from "../config/config-error.ts";
import type { KeyPath } from "../config/value-tree.ts";

/** Where the options of an agent come from. */
export interface OptionOrigin {
  /** Whether one of these keys is wrong in itself, which is reported already. */
  isBroken(keys: readonly KeyPath[]): boolean;
  /** A problem at the first of these keys that is set. */
  problem(
    keys: readonly KeyPath[],
    fields: Partial<ConfigProblem> & Pick<ConfigProblem, "message">,
  ): ConfigProblem;
  /** The built-in tool that somebody meant by a name; null: there is a tool of this name, or none comes near. */
  toolMeantBy(name: string): string | null;
}

/** What the rooms below the features need to know of one. It imports nothing above `config/schema/values.ts`. */
export interface Declaration<Agent = never> {
  /** Options of `[defaults]` and of each of `[[agents]]`, each with a default. */
  readonly options: z.ZodRawShape;
  /** Options of each of `[[agents]]` alone. */
  readonly agentOptions: z.ZodRawShape;
  /** Names of its tools; each has a template `prompts/en/tool-NAME.md.j2`. */
  readonly tools: readonly string[];
  /** Finds errors that no schema finds. */
  check(agent: Agent, origin: OptionOrigin): ConfigProblem[];
  /** Options, as `table.option`, that are tables with names of the operator's as keys. Default: none. */
  readonly verbatim?: readonly string[];
}
