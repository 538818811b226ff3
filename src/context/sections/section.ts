import type { BuiltInKind, FileKind, Section, SectionKind, SectionScope } from "../../core/context.ts";

export interface AgentFile {
  readonly kind: FileKind;
  /** As the operator knows it: `agents/main/rules/style.md`. */
  readonly path: string;
  /** Without its front matter. */
  readonly text: string;
  /** `style`; for a skill, the name in its front matter. */
  readonly name: string;
  /** A skill's purpose. */
  readonly description: string;
  /** A rule's channels: it is included where they match; null: it names none. */
  readonly channels: Glob | null;
  readonly paths: Glob | null;
  /** The only channel in which it is shown, in the form of file names, if the agent wrote it; null: another kind of file. */
  readonly channel: string | null;
}

/** Active skills as sections, by their files: always the same object, since a section's text is measured once. */
const ACTIVE = new WeakMap<AgentFile, AgentFile>();

export function activeSkill(skill: AgentFile): AgentFile {
  const active = ACTIVE.get(skill) ?? { ...skill, kind: "skill" };
  ACTIVE.set(skill, active);
  return active;
}

/** Whether a name matches one of an operator's patterns. */
export type Glob = (name: string) => boolean;

/** The present content of an agent's folder. The identical object while nothing in it changes. */
export interface AgentFiles {
  /** As the operator knows it: `agents/main`. */
  readonly folder: string;
  readonly files: readonly AgentFile[];
  /** Problems of reading it, for the operator. */
  readonly problems: readonly string[];
}

export function skillsOf({ files }: AgentFiles): AgentFile[] {
  return files.filter(({ kind }) => kind === "skills").toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Without a folder, nothing is read, shown or paid for. */
export const NO_FILES: AgentFiles = { folder: "", files: [], problems: [] };

/** The newest messages that wait for an answer, reduced to what sections depend on. */
export interface AskedMessage {
  readonly authorId: string;
  readonly text: string;
}

/** How a kind of section is fitted: the higher the priority, the later it is cut. */
interface KindRules {
  readonly priority: number;
  /** It is never cut. */
  readonly isProtected: boolean;
  /** `static`: the same all day, in the prefix; `dynamic`: after the messages. */
  readonly place: Section["place"];
  readonly scope: SectionScope;
  readonly label: string;
}

const FILE_KINDS: Readonly<Record<FileKind, KindRules>> = {
  soul: { priority: 100, isProtected: true, place: "static", scope: "agent", label: "who it is" },
  policy: { priority: 90, isProtected: true, place: "static", scope: "all agents", label: "policy" },
  workspace: { priority: 80, isProtected: false, place: "static", scope: "agent", label: "workspace" },
  rule: { priority: 75, isProtected: false, place: "static", scope: "agent", label: "rule" },
  user: { priority: 70, isProtected: false, place: "dynamic", scope: "person", label: "who speaks" },
  channel: { priority: 65, isProtected: false, place: "static", scope: "channel", label: "this channel" },
  skill: { priority: 78, isProtected: true, place: "static", scope: "agent", label: "skill" },
  skills: { priority: 58, isProtected: false, place: "dynamic", scope: "agent", label: "skills" },
  memory: { priority: 55, isProtected: false, place: "dynamic", scope: "agent", label: "lasting notes" },
  note: { priority: 50, isProtected: false, place: "dynamic", scope: "agent", label: "note of the day" },
};

/** The common properties of a built-in kind's sections. */
interface BuiltInRules extends KindRules, Pick<Section, "source" | "reason"> {}

const COMMON = { isProtected: false, place: "dynamic", scope: "channel", source: "the log" } as const;

/** Sections that Weir itself adds. The limits of the folder's sections do not apply: the emergency fits them. */
export const BUILT_IN_KINDS: Readonly<Record<BuiltInKind, BuiltInRules>> = {
  tools: {
    priority: 100,
    isProtected: true,
    place: "static",
    scope: "agent",
    label: "tools",
    source: "the tools of Weir",
    reason: "always",
  },
  identity: {
    priority: 100,
    isProtected: true,
    place: "static",
    scope: "agent",
    label: "who it is, how to read the chat",
    source: "template system",
    reason: "always",
  },
  summaries: {
    ...COMMON,
    priority: 88,
    isProtected: true,
    place: "messages",
    label: "summaries",
    reason: "they replace older messages",
  },
  history: {
    ...COMMON,
    priority: 40,
    place: "messages",
    label: "raw history",
    reason: "no summary covers it yet",
  },
  due: {
    ...COMMON,
    priority: 95,
    place: "messages",
    label: "messages to answer",
    reason: "waits for an answer",
  },
  now: {
    ...COMMON,
    priority: 90,
    isProtected: true,
    label: "time, place, people",
    source: "template dynamic",
    reason: "always",
  },
  remembered: {
    ...COMMON,
    priority: 60,
    label: "memories",
    source: "memories",
    reason: "fits the messages to answer",
  },
  people: {
    ...COMMON,
    priority: 61,
    label: "pages of people",
    source: "memories",
    reason: "they ask, or are asked about",
  },
  learned: {
    ...COMMON,
    priority: 54,
    label: "learned wishes",
    reason: "people have asked for it, more than once",
  },
  recalled: {
    ...COMMON,
    priority: 60,
    label: "earlier messages",
    reason: "fits the messages to answer, and is not in view",
  },
  unfound: {
    ...COMMON,
    priority: 60,
    label: "nothing was found",
    reason: "nothing fits the messages to answer",
  },
  subagents: {
    ...COMMON,
    priority: 88,
    isProtected: true,
    label: "subagents at work",
    reason: "the agent waits for them",
  },
  replies: {
    ...COMMON,
    priority: 62,
    label: "what is answered",
    reason: "the messages to answer reply to it",
  },
  omitted: {
    ...COMMON,
    priority: 90,
    isProtected: true,
    label: "what was left out",
    reason: "there was no room, and no summary yet",
  },
  extract: {
    ...COMMON,
    priority: 64,
    label: "an extract of that",
    reason: "there was no room, and no summary yet",
  },
  turn: {
    ...COMMON,
    priority: 85,
    place: "messages",
    label: "this turn's tool calls",
    reason: "what the agent has called since",
  },
};

export const SECTION_KINDS: Readonly<Record<SectionKind, KindRules>> = { ...FILE_KINDS, ...BUILT_IN_KINDS };

/** Whether a section is the operator's: a file of the agent's folder. Files that the agent wrote in a channel belong to its people. */
export function isOperators({ kind, scope }: Pick<Section, "kind" | "scope">): boolean {
  return isFileKind(kind) && (scope !== "channel" || kind === "channel");
}

/** Whether a kind is one of the files in an agent's folder. */
export function isFileKind(kind: string): kind is FileKind {
  return Object.hasOwn(FILE_KINDS, kind);
}
