import type { TemplateRules } from "./template.ts";
import type { VariableShapes } from "./template-names.ts";

export const FAILURE_KINDS = [
  "unavailable",
  "too_long",
  "misconfigured",
  "internal",
  "gave_up",
  "too_often",
] as const;

const SYSTEM: VariableShapes = { agent_name: "text", instructions: "text", date: "text" };
const COMPACTOR: VariableShapes = { agent_name: "text", agent_prompt: "text" };
/** How long a summary may be: a number, and whether it counts words or characters. */
const LIMIT: VariableShapes = { limit: "text", unit: "text" };

/** Each template that a prompts' folder must have, no more and no fewer, with its variables. */
export const TEMPLATES = {
  system: rules(SYSTEM),
  dynamic: rules({
    now: "text",
    platform: "text",
    channel: "text",
    people: "list",
    remembered: "list",
    recalled: "list",
    replies: "list",
    omitted: "text",
  }),
  omission: rules(
    { count: "text", from_time: "text", to_time: "text" },
    [1, 12].map((count) => ({ count, from_time: "a", to_time: "b" })),
  ),
  "edit-note": rules({ author: "text", text: "text", original: "text" }),
  absence: rules(
    { kind: "text", from_time: "text", to_time: "text" },
    ["late", "lost"].map((kind) => ({ kind, from_time: "a", to_time: "b" })),
  ),
  failure: rules(
    { kind: "text" },
    FAILURE_KINDS.map((kind) => ({ kind })),
  ),
  help: rules({ commands: { listOf: ["name", "help"] } }),
  deleted: rules({}),
  "tool-memory-recall": rules({}),
  "tool-search-history": rules({}),
  "tool-react": rules({}),
  "tool-skip": rules({}),
  "tool-memory-save": rules({}),
  compactor: rules(COMPACTOR),
  "compactor-background": rules({ text: "text" }),
  "compactor-task": rules({
    first: "text",
    last: "text",
    part: "text",
    parts: "text",
    redo: "text",
    memory: "text",
    files: "list",
    commands: "list",
    errors: "list",
    links: "list",
    ...LIMIT,
  }),
  "compactor-merge": rules({ count: "text", ...LIMIT }),
  "compactor-shorten": rules(LIMIT),
  "memory-result": rules({ kept: "text", dropped: "list" }),
  digest: rules(
    { count: "text", people: "list", from_time: "text", to_time: "text", lines: "text" },
    [1, 12].map((count) => ({ count, people: ["a"], from_time: "b", to_time: "c", lines: "d" })),
  ),
  "compaction-notice": rules(
    { count: "text" },
    [1, 12].map((count) => ({ count })),
  ),
} as const satisfies Record<string, TemplateRules>;

export type TemplateName = keyof typeof TEMPLATES;

/**
 * An agent's own system template may do without the name. It must keep the instructions (the configuration sets
 * them, and they would be lost without a word) and the date (a model cannot know it).
 */
export const OWN_SYSTEM: TemplateRules = { variables: SYSTEM, required: ["instructions", "date"] };

/** An agent's own instructions for its summaries; who the agent is must stay in them. */
export const OWN_COMPACTOR: TemplateRules = { variables: COMPACTOR, required: ["agent_prompt"] };

function rules(
  variables: VariableShapes,
  samples: NonNullable<TemplateRules["samples"]> = [],
): TemplateRules {
  return { variables, required: Object.keys(variables), samples };
}
