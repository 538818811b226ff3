import type { FileKind, Focus, Section, Signal } from "../../core/context.ts";
import { escapeLabels } from "../labels.ts";
import { storableText } from "../../text/text.ts";
import { estimateTokens } from "../../text/tokens.ts";
import { fitSections, limitsBehind, type SectionLimits } from "./fit.ts";
import { focusOf, raiseOf } from "./focus.ts";
import { type AgentFile, type AgentFiles, type AskedMessage, activeSkill, SECTION_KINDS } from "./section.ts";

/** The place of a request, reduced to what sections depend on. */
export interface SectionScene {
  /** `discord`. */
  readonly platform: string;
  /** Names of the channel for an operator's globs: `discord:123`, `discord:SERVER/#general`. */
  readonly names: readonly string[];
  /** Names of its file under `channels/`, without the extension. */
  readonly fileNames: readonly string[];
}

/** The sections from an agent's folder. */
export interface Sections {
  /** In the system prompt: they depend on the files and the channel alone. */
  readonly static: readonly Section[];
  /** After the messages. */
  readonly dynamic: readonly Section[];
  /** The topics of the newest messages, by which the sections were chosen; null: there was no choice. */
  readonly focus: Focus | null;
}

const NO_SECTIONS: Sections = { static: [], dynamic: [], focus: null };

const LISTENS: Readonly<Partial<Record<FileKind, readonly Signal[]>>> = {
  memory: ["continue", "plan"],
  note: ["continue", "plan", "verify"],
  skills: ["change", "verify"],
};

/**
 * Chooses the sections of an agent's folder for a request, and fits them. Pure.
 * @param asked oldest first
 * @param channelFiles files that are of this channel alone
 * @param active names of the skills that are active there
 */
export function chooseSections(
  { files, folder }: AgentFiles,
  scene: SectionScene,
  asked: readonly AskedMessage[],
  limits: SectionLimits,
  channelFiles: readonly AgentFile[] = [],
  active: readonly string[] = [],
): Sections {
  if (files.length === 0 && channelFiles.length === 0) return NO_SECTIONS;
  const focus = focusOf(asked.map(({ text }) => text));
  const skills = files.filter(({ kind }) => kind === "skills");
  const chosen = [...files, ...channelFiles].flatMap((file) => {
    if (file.kind === "skills") return [];
    const reason = reasonFor(file, scene, asked, focus);
    return reason === null ? [] : [sectionOf(file, reason, focus)];
  });
  if (skills.length > 0) chosen.push(skillsSection(skills, `${folder}/skills`, focus));
  for (const skill of skills) {
    if (active.includes(skill.name)) chosen.push(sectionOf(activeSkill(skill), "it is active here", focus));
  }
  const byPriority = withinProtection(chosen, limits).toSorted(
    (a, b) => b.priority - a.priority || (a.source < b.source ? -1 : 1),
  );
  const fixed = fittedOnce(
    files,
    byPriority.filter(({ place }) => place === "static"),
    limits,
  );
  const rest = byPriority.filter(({ place }) => place === "dynamic");
  return { static: fixed, dynamic: fitSections(rest, limitsBehind(limits, fixed)), focus };
}

/** Skills lose their protection once they exceed the limit: only sections that were checked at the start may take all of it. */
function withinProtection(sections: readonly Section[], { tokens }: SectionLimits): readonly Section[] {
  let left = tokens;
  for (const { isProtected, kind, tokens: size } of sections)
    if (isProtected && kind !== "skill") left -= size.before;
  return sections.map((section) => {
    if (section.kind !== "skill") return section;
    left -= section.tokens.before;
    return left >= 0 ? section : { ...section, isProtected: false };
  });
}

/** Fitted static sections: the same in each request of a day, and measuring them takes milliseconds. */
const FITTED = new WeakMap<readonly AgentFile[], Map<string, Section[]>>();

function fittedOnce(
  files: readonly AgentFile[],
  sections: readonly Section[],
  limits: SectionLimits,
): readonly Section[] {
  const known = FITTED.get(files) ?? new Map<string, Section[]>();
  FITTED.set(files, known);
  const key = JSON.stringify([limits, sections.map((section) => [section.key, section.reason])]);
  const fitted = known.get(key) ?? fitSections(sections, limits);
  known.set(key, fitted);
  return fitted;
}

/** Why a file is included; null: it is not. */
function reasonFor(
  file: AgentFile,
  scene: SectionScene,
  asked: readonly AskedMessage[],
  focus: Focus,
): string | null {
  switch (file.kind) {
    case "rule": {
      const { channels, paths } = file;
      if (channels === null && paths === null) return "a rule for everything";
      const channel = channels === null ? "" : scene.names.find(channels);
      if (channel === undefined) return null;
      if (paths === null) return `the channel is ${channel}`;
      const path = focus.paths.find(paths);
      return path === undefined ? null : `${path} is talked about`;
    }
    case "channel":
      return scene.fileNames.includes(file.name) ? "the file of this channel" : null;
    case "user":
      return asked.some(({ authorId }) => `${scene.platform}-${authorId}` === file.name)
        ? "this person is to be answered"
        : null;
    default:
      return file.channel === null ? "always" : "noted in this conversation";
  }
}

function sectionOf(file: AgentFile, reason: string, focus: Focus): Section {
  const { kind, path, name, channel } = file;
  const rules = SECTION_KINDS[kind];
  const isNamed =
    kind === "skill" || kind === "rule" || kind === "channel" || kind === "user" || channel !== null;
  // A rule that depends on the topic would change the prefix.
  const place = file.paths !== null ? "dynamic" : rules.place;
  return measured({
    key: isNamed ? `${kind}:${name}` : kind,
    kind,
    label: isNamed ? `${rules.label} ${name}` : rules.label,
    source: path,
    reason,
    place,
    scope: channel === null ? rules.scope : "channel",
    ...textOf(file, place),
    focus,
  });
}

type Counted = { readonly text: string; readonly estimated: number };

const TEXTS = new WeakMap<AgentFile, Counted>();

function textOf(file: AgentFile, place: Section["place"]): Counted {
  const known = TEXTS.get(file) ?? counted(file.text.trim(), place);
  TEXTS.set(file, known);
  return known;
}

function counted(text: string, place: Section["place"]): Counted {
  const stored = storableText(text);
  // Text after the messages is read as data: it must not look like Weir's own lines.
  const shown = place === "dynamic" ? escapeLabels(stored) : stored;
  return { text: shown, estimated: estimateTokens(shown) };
}

/** The catalogue, without the skills' own texts. */
function skillsSection(skills: readonly AgentFile[], source: string, focus: Focus): Section {
  const lines = skills.map(({ name, description }) => `- ${name}: ${description}`);
  const rules = SECTION_KINDS.skills;
  const text = counted(lines.toSorted().join("\n"), rules.place);
  return measured({ ...rules, key: "skills", kind: "skills", source, reason: "always", ...text, focus });
}

function measured(
  parts: { readonly kind: FileKind } & Pick<
    Section,
    "key" | "label" | "source" | "reason" | "place" | "scope"
  > &
    Counted & { readonly focus: Focus },
): Section {
  const { focus, estimated, ...section } = parts;
  const { priority, isProtected } = SECTION_KINDS[section.kind];
  const { text } = section;
  const { raise, evidence } =
    section.place === "static"
      ? { raise: 0, evidence: [] }
      : raiseOf(text, focus, LISTENS[section.kind] ?? []);
  const size = { before: text.length, after: text.length };
  return {
    ...section,
    priority: priority + raise,
    isProtected,
    evidence,
    state: "whole",
    characters: size,
    tokens: { before: estimated, after: estimated },
  };
}
