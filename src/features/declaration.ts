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
  /** The built-in tool with the nearest name; null: a tool has this name, or none has one like it. */
  toolMeantBy(name: string): string | null;
}

/** What the rooms below the features need to know of one. It imports nothing above `config/schema/values.ts`. */
export interface Declaration<Agent = never> {
  /** Options of `[defaults]` and of each of `[[agents]]`, each with a default. Default: none. */
  readonly options?: z.ZodRawShape;
  /** Options of each of `[[agents]]` alone. Default: none. */
  readonly agentOptions?: z.ZodRawShape;
  /** Names of its tools; each has a template `prompts/en/tool-NAME.md.j2`. */
  readonly tools: readonly string[];
  /** Finds errors that no schema finds. Default: there are none. */
  check?(agent: Agent, origin: OptionOrigin): ConfigProblem[];
  /** Names of its tools whose template has variables; default: it has none. */
  readonly describedTools?: readonly string[];
  /** Templates with their variables, as in `prompts/catalogue.ts`; default: it has none beside those of `tools`. */
  readonly templates?: Readonly<Record<string, object>>;
  /** The purpose of its own model calls, as events and rows name it. Default: it makes no calls. */
  readonly callPurpose?: string;
  /** Its work that outlives turns; default: there is none. */
  readonly openWork?: OpenWork;
  /** Options, as `table.option`, that are tables with names of the operator's as keys. Default: none. */
  readonly verbatim?: readonly string[];
}

/** Rows of work in channels: `channel_id`, and `closed_at`, which is null while the work goes on. */
export interface OpenWork {
  readonly table: string;
  /** SQL: an aggregate over a channel's open rows `w`, which changes with each step of the work. */
  readonly progress: string;
}
