import type { AgentConfig } from "../config/config.ts";
import type { TriedSetting } from "../config/load.ts";
import { OperatorError } from "../core/errors.ts";

/** Settings whose effect a replay can show, by their names in config.toml, with their present values. */
const TUNABLE: Readonly<Record<string, (agent: AgentConfig) => number | boolean>> = {
  context_window: (agent) => agent.contextWindow,
  max_output_tokens: (agent) => agent.maxOutputTokens,
  generation_reserve: (agent) => agent.generationReserve,
  "compaction.enabled": ({ compaction }) => compaction.enabled,
  "compaction.background_threshold": ({ compaction }) => compaction.backgroundThreshold,
  "compaction.aggressive_threshold": ({ compaction }) => compaction.aggressiveThreshold,
  "compaction.emergency_threshold": ({ compaction }) => compaction.emergencyThreshold,
  "compaction.target": ({ compaction }) => compaction.target,
  "compaction.keep_messages": ({ compaction }) => compaction.keepMessages,
  "compaction.write_ahead": ({ compaction }) => compaction.writeAhead,
  "compaction.max_raw_messages": ({ compaction }) => compaction.maxRawMessages,
  "compaction.max_raw_tokens": ({ compaction }) => compaction.maxRawTokens,
};

/** Columns besides "now" that a person can still read. */
const MOST_VARIANTS = 8;

/** Whether a replay can show the effect of this setting. */
export function isTunable(key: string): boolean {
  return Object.hasOwn(TUNABLE, key);
}

/** The names of all settings that can be tried. */
export const TUNABLE_KEYS: readonly string[] = Object.keys(TUNABLE);

/** An agent's value, perhaps a default; "" for a key that cannot be tried. */
export function settingOf(agent: AgentConfig, key: string): string {
  return String(isTunable(key) ? (TUNABLE[key]?.(agent) ?? "") : "");
}

/**
 * The variants to try, each a list for its own column: one `key=value` is one column, `key=a,b,c` is three, and lists
 * of several keys are combined. Pure. It does not check the values.
 * @throws OperatorError for a text that is not `key=value`, a repeated key, or too many columns
 */
export function variantsOf(texts: readonly string[]): TriedSetting[][] {
  if (texts.length === 0) return [];
  const wanted = texts.map(parse);
  const twice = wanted.find(({ key }, index) => wanted.findIndex((one) => one.key === key) !== index);
  if (twice !== undefined)
    throw new OperatorError(
      `--set names ${twice.key} twice. Several values are tried side by side: --set ${twice.key}=A,B.`,
    );
  const columns = wanted.reduce((count, { values }) => count * values.length, 1);
  if (columns > MOST_VARIANTS)
    throw new OperatorError(`--set asks for ${columns} columns, and ${MOST_VARIANTS} can be read at most.`);
  return wanted.reduce<TriedSetting[][]>(
    (variants, { key, values }) =>
      variants.flatMap((variant) => values.map((value) => [...variant, { key, value }])),
    [[]],
  );
}

/** Longest text after `--set` that an error repeats. */
const LONGEST_SHOWN = 80;

function parse(text: string): { readonly key: string; readonly values: readonly unknown[] } {
  const [, key, written] = /^\s*([\w.-]+?)\s*=(.*)$/su.exec(text) ?? [];
  const values = (written ?? "").split(",").map((value) => value.trim());
  if (key === undefined || values.includes("")) {
    const shown = text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
    throw new OperatorError(
      `--set ${JSON.stringify(shown)} is no setting. Expected KEY=VALUE or KEY=VALUE,VALUE, such as compaction.target=0.4,0.5.`,
    );
  }
  return { key, values: [...new Set(values)].map(toValue) };
}

/** Parses a value like TOML. */
function toValue(text: string): unknown {
  if (text === "true" || text === "false") return text === "true";
  return /^[+-]?\d+(?:_\d+)*(?:\.\d+)?$/.test(text) ? Number(text.replaceAll("_", "")) : text;
}
