import type { CamelKey } from "../config/camel-case.ts";
import { PLAIN_TOOLS, type PlainTool } from "../config/tool-names.ts";
import { FEATURE_TEMPLATES } from "../features/declarations.ts";
import type { TemplateRules } from "./template.ts";
import type { VariableShape, VariableShapes } from "./template-names.ts";

/*
 * Every template that a prompts' folder must have, no more and no fewer, with its variables.
 *
 * To add a template: write `prompts/en/NAME.md.j2`, and add NAME with its variables to TEMPLATES; those of plain tools and of features are there.
 * `render(NAME, values)` then takes exactly these values: a template's `from_time` is `fromTime` in the code.
 */

export const FAILURE_KINDS = [
  "unavailable",
  "too_long",
  "misconfigured",
  "moderated",
  "unpaid",
  "loading",
  "internal",
  "gave_up",
  "too_often",
  "too_many_calls",
  "spent_agent",
  "spent_channel",
  "spent_person",
] as const;

const SYSTEM = {
  agent_name: "text",
  /** "" if the agent has none. */
  instructions: "text",
  /** YYYY-MM-DD in the agent's time zone. */
  date: "text",
  /** What it may look up of what it does not see. */
  recall: { oneOf: ["all", "messages", "memories", "off"] },
} as const satisfies VariableShapes;

const COMPACTOR = {
  agent_name: "text",
  /** The agent's instructions, or its own system prompt: the summariser must know who the agent is. "": it has none. */
  agent_prompt: "text",
} as const satisfies VariableShapes;

/** How long a summary may be. */
const LIMIT = { limit: "number", unit: { oneOf: ["words", "characters"] } } as const satisfies VariableShapes;

type Dashed<Name extends string> = Name extends `${infer Head}_${infer Tail}` ? `${Head}-${Dashed<Tail>}` : Name;
export type PlainToolTemplate = `tool-${Dashed<PlainTool>}`;

/** The template that describes a tool: of `memory_recall`, `tool-memory-recall`. */
export function templateOfTool(name: PlainTool): PlainToolTemplate {
  // oxlint-disable-next-line no-unsafe-type-assertion -- the type says the same of each name
  return `tool-${name.replaceAll("_", "-")}` as PlainToolTemplate;
}

const NO_VARIABLES = {} as const satisfies VariableShapes;

function plainToolTemplates(): Readonly<Record<PlainToolTemplate, typeof NO_VARIABLES>> {
  // oxlint-disable-next-line no-unsafe-type-assertion -- one for each name
  return Object.fromEntries(PLAIN_TOOLS.map((name) => [templateOfTool(name), NO_VARIABLES])) as ReturnType<typeof plainToolTemplates>;
}

const TEMPLATES = {
  system: SYSTEM,
  dynamic: {
    /** `Saturday 2026-11-21 14:05 UTC`. */
    now: "text",
    platform: "text",
    /** The channel's title, as people call it, in quotation marks. */
    channel: "text",
    /** Names, each in quotation marks. */
    people: "list",
    /**
     * What changes from turn to turn: its kind, whom it concerns, where it comes from, its text.
     * Of the agent's folder: rule, user, skills, memory, note.
     * Rendered lines: learned, remembered, recalled, what of a feature the agent waits for, replies (`NAME answers [TIME] NAME: text`).
     * What `unfound`, `omission` and `digest` rendered: unfound, omitted, extract.
     */
    sections: { listOf: ["kind", "scope", "source", "text"] },
    /** Messages before it that wait for the answer. */
    due: "number",
  },
  /** What of the agent's folder is the same all day; it stands behind the system prompt. */
  sections: {
    agent_name: "text",
    /** As the operator knows it: `agents/main`. */
    folder: "text",
    /** Names. */
    tools: "list",
    /** It may write notes there. */
    keeps_notes: "flag",
    sections: { listOf: ["kind", "source", "text"] },
  },
  /** Said where a question was looked up, and nothing fits it. */
  unfound: {},
  omission: { count: "number", from_time: "text", to_time: "text" },
  "edit-note": {
    author: "text",
    /** What the message says now. */
    text: "text",
    /** Which message it was: its time. */
    original: "text",
  },
  absence: {
    /** `late`: it is still being read, and is added later. */
    kind: { oneOf: ["late", "lost"] },
    from_time: "text",
    to_time: "text",
  },
  /** The platform refused a part of an answer: the model learns that people have not seen it. */
  undelivered: {
    /** Where in the answer it is missing. */
    kind: { oneOf: ["all", "beginning", "middle", "end", "file"] },
    /** Which answer it is: when the message was said that it answers. */
    asked_at: "text",
    missing: "number",
    /** Of the whole answer. */
    characters: "number",
  },
  /** What stands before the pictures that a tool has brought. */
  "result-images": {
    tool: "text",
    /** How many of its pictures follow. */
    count: "number",
    /** Which it was of the calls that were made at once, from 1. */
    call: "number",
    calls: "number",
  },
  /** The one sentence that a person gets instead of an answer. */
  failure: {
    kind: { oneOf: FAILURE_KINDS },
    /** Calls of models that were made; 0 where that is not the reason. */
    calls: "number",
  },
  /** A command's name is given without its slash. */
  help: { commands: { listOf: ["name", "help"] } },
  /** What a deleted message shows as. */
  deleted: {},
  /** Said by a user, before the first words of an assistant in a request. */
  opening: {},
  /** Said by an assistant, where it called tools and then gave no answer. */
  closing: {},
  ...plainToolTemplates(),
  "tool-memory-save": {},
  "tool-memory-revise": {},
  "tool-hand-off": {
    self: "text",
    /** Those that it may hand over to: `ID (NAME)`. */
    agents: "list",
  },
  ...FEATURE_TEMPLATES,
  /** Instructions of the summariser. */
  compactor: COMPACTOR,
  /** The previous summary, as background. */
  "compactor-background": { text: "text" },
  "compactor-task": {
    /** Numbers of the transcript's first and last line. */
    first: "number",
    last: "number",
    /** Which part of the transcript this is, from 1; a transcript that fits one request is 1 of 1. */
    part: "number",
    parts: "number",
    /** The same range was summarised before: from an extract, or before an edit. */
    redo: "flag",
    /** `memory_save` is offered. */
    memory: "flag",
    /** What a person needs most from it, quoted; "": nothing. */
    focus: "text",
    /** What plain extraction found in tool calls and their results. */
    files: "list",
    commands: "list",
    errors: "list",
    links: "list",
    ...LIMIT,
  },
  /** To make one summary of several. */
  "compactor-merge": { count: "number", ...LIMIT },
  "compactor-shorten": LIMIT,
  /** Asks for a summary once more, with what is wrong with the first. */
  "compactor-again": {
    reason: { oneOf: ["talk", "too_little", "script", "facts"] },
    /** That of the talk; "" unless it is the reason. */
    script: "text",
    /** What the summary lacks, quoted. */
    missing: "list",
    ...LIMIT,
  },
  /** Asks which older memories new ones change. */
  "compactor-revise": { older: "list", fresh: "list" },
  /** What became of the statements of one `memory_save`. */
  "memory-result": { kept: "number", dropped: "list" },
  /** A summary made without a model. */
  digest: {
    count: "number",
    people: "list",
    /** "" if there is none. */
    from_time: "text",
    to_time: "text",
    /** `[2026-11-21 14:05] NAME: text`, word for word, one a line. */
    lines: "text",
  },
  /** Tells the people in a channel that older messages were summarised. */
  "compaction-notice": { count: "number" },
} as const satisfies Readonly<Record<string, VariableShapes>>;

export type TemplateName = keyof typeof TEMPLATES;

export const TEMPLATE_NAMES = namesOf(TEMPLATES);

/** What a template is rendered with, in the code's spelling. */
export type ValuesOf<Name extends TemplateName> = {
  readonly [Variable in keyof (typeof TEMPLATES)[Name] as CamelKey<Variable>]: ValueOf<
    (typeof TEMPLATES)[Name][Variable]
  >;
};

type ValueOf<Shape> = Shape extends { readonly oneOf: readonly (infer Kind)[] }
  ? Kind
  : Shape extends { readonly listOf: readonly (infer Field extends string)[] }
    ? readonly { readonly [Name in Field]: string }[]
    : Shape extends keyof PlainValues
      ? PlainValues[Shape]
      : never;

interface PlainValues {
  readonly text: string;
  readonly number: number;
  readonly flag: boolean;
  readonly list: readonly string[];
}

function namesOf<Name extends string>(templates: Readonly<Record<Name, unknown>>): readonly Name[] {
  const isName = (key: string): key is Name => key in templates;
  return Object.keys(templates).filter(isName);
}

/** A translation that was made before there were these may do without: it says a little less precisely what there is. */
const NEW_VARIABLES: Readonly<Partial<Record<TemplateName, readonly string[]>>> = {
  system: ["recall"],
  failure: ["calls"],
};

/** The rules of a shipped template: it must use all of its variables. */
export function rulesOf(name: TemplateName): TemplateRules {
  const variables: Readonly<Record<string, VariableShape>> = TEMPLATES[name];
  const required = Object.keys(variables).filter((variable) => !NEW_VARIABLES[name]?.includes(variable));
  return { variables, required };
}

/**
 * An agent's own system template may leave out the name. It must keep the instructions (the configuration sets
 * them, and they would be lost without a word) and the date (a model cannot know it).
 */
export const OWN_SYSTEM: TemplateRules = { variables: SYSTEM, required: ["instructions", "date"] };

/** An agent's own instructions for its summaries must keep who the agent is. */
export const OWN_COMPACTOR: TemplateRules = { variables: COMPACTOR, required: ["agent_prompt"] };
