import type { SectionKind } from "../../core/context.ts";

/** A file of an agent's folder, as it was read. */
export interface AgentFile {
  readonly kind: SectionKind;
  /** As the operator knows it: `agents/main/rules/style.md`. */
  readonly path: string;
  /** Without its front matter. */
  readonly text: string;
  /** `style`; of a skill, what its front matter calls it. */
  readonly name: string;
  /** Of a skill: what it is for. */
  readonly description: string;
  /** Of a rule: it comes in where they match; null: it says nothing of them. */
  readonly channels: Glob | null;
  readonly paths: Glob | null;
  /** Of the agent's own notes: of which channel they are, as a file is named after it; null: of any other file. */
  readonly channel: string | null;
}

/** Does a name match one of an operator's patterns? */
export type Glob = (name: string) => boolean;

/** What an agent's folder holds today. The same object as long as nothing in it changes. */
export interface AgentFiles {
  /** As the operator knows it: `agents/main`. */
  readonly folder: string;
  readonly files: readonly AgentFile[];
  /** What could not be read as it was meant, for the operator. */
  readonly problems: readonly string[];
}

/** Without a folder nothing is read, shown or paid for. */
export const NO_FILES: AgentFiles = { folder: "", files: [], problems: [] };

/** The newest messages that wait for an answer, as far as sections depend on them. */
export interface Asked {
  readonly authorId: string;
  readonly text: string;
}

/** What a kind of section is to the budget: the higher the priority, the later it is cut. */
interface KindRules {
  readonly priority: number;
  /** It is never cut. */
  readonly isProtected: boolean;
  /** `static`: the same all day, in the prefix; `dynamic`: behind the messages. */
  readonly place: "static" | "dynamic";
  readonly scope: "all agents" | "agent" | "channel" | "person";
  readonly label: string;
}

export const SECTION_KINDS: Readonly<Record<SectionKind, KindRules>> = {
  soul: { priority: 100, isProtected: true, place: "static", scope: "agent", label: "who it is" },
  policy: { priority: 90, isProtected: true, place: "static", scope: "all agents", label: "policy" },
  workspace: { priority: 80, isProtected: false, place: "static", scope: "agent", label: "workspace" },
  rule: { priority: 75, isProtected: false, place: "static", scope: "agent", label: "rule" },
  user: { priority: 70, isProtected: false, place: "dynamic", scope: "person", label: "who speaks" },
  channel: { priority: 65, isProtected: false, place: "static", scope: "channel", label: "this channel" },
  skills: { priority: 58, isProtected: false, place: "dynamic", scope: "agent", label: "skills" },
  memory: { priority: 55, isProtected: false, place: "dynamic", scope: "agent", label: "lasting notes" },
  note: { priority: 50, isProtected: false, place: "dynamic", scope: "agent", label: "note of the day" },
};
