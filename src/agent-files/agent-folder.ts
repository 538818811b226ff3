/**
 * The files of agents' folders: reads them, checks their front matter, and keeps them current. The room touches only
 * the file system; `context` decides what of them a model sees.
 */

import { existsSync } from "node:fs";
import { glob, readdir, stat } from "node:fs/promises";
import { join, posix } from "node:path";
import { readTextFile } from "../config/text-file.ts";
import { type AgentFile, type AgentFiles, type Glob, NO_FILES } from "../context/sections/section.ts";
import { errorMessage, isMissingFile } from "../core/errors.ts";
import type { FileKind } from "../core/context.ts";
import { readFrontMatter, ruleMatter, skillIn } from "./front-matter.ts";
import { listSkillFiles, readSkillFile } from "./skill-files.ts";

/** Skills for all agents, beside the folder of agents' folders, where other programs with skills look as well. */
const SHARED_SKILLS = "../.agents/skills";

/** Shortest time between two checks of a folder, ms. */
const LOOK_EVERY_MS = 1000;
/** Most files of one kind that are read, so that a check stays fast. */
const MOST_FILES = 500;

/** The folder of one agent, for features that write files there. The identical object while the agent keeps its folder and time zone. */
export interface OwnFolder {
  /** Absolute path. */
  readonly root: string;
  /** Its name, as the operator knows it: `agents/main`. */
  readonly shownAs: string;
  /** YYYY-MM-DD in the agent's time zone. */
  readonly today: () => string;
  /** Called with each file that cannot be used as it is. */
  readonly onProblem: (problem: string) => void;
}

/** `root` is the folder of all agents' folders. */
export interface AgentFolderParts extends OwnFolder {
  /** Name of the agent's own folder in it. */
  readonly id: string;
  /** Milliseconds of a monotonic clock. */
  readonly clock: () => number;
  /** Why files cannot be used; null: they can. A refusal keeps the earlier files in use. */
  readonly refusalOf: (files: AgentFiles) => string | null;
  readonly own?: OwnFolder | null;
}

/** A file's content, and the marks by which it is known to be unchanged. */
interface Known {
  readonly mtimeMs: number;
  readonly size: number;
  readonly file: AgentFile | null;
  readonly problem: string | null;
}

interface Candidate {
  readonly kind: FileKind;
  /** In the folder of all agents, with `/`. */
  readonly path: string;
}

/** A file of an agent's folder, for its operator. */
export interface ListedFile {
  /** As the operator knows it: `agents/main/SOUL.md`. */
  readonly path: string;
  readonly bytes: number;
  /** It cannot be used as it is; null: it can. */
  readonly problem: string | null;
  /** The agent writes it, beside people. */
  readonly isAgents: boolean;
}

/** An agent's folder: SOUL.md, rules, notes, skills. It only reads; features may write other files there. */
export class AgentFolder {
  readonly #parts: AgentFolderParts;
  #known = new Map<string, Known>();
  #current: AgentFiles = NO_FILES;
  #refusal: string | null = null;
  #told = new Set<string>();
  #lookedAt = -Infinity;
  #look: Promise<void> | null = null;

  constructor(parts: AgentFolderParts) {
    this.#parts = parts;
  }

  /** The path as the operator knows it, such as `agents/main`. */
  get shownAs(): string {
    return posix.join(this.#parts.shownAs, this.#parts.id);
  }

  /** Why the present files are not in use; null: they are in use. */
  get refusal(): string | null {
    return this.#refusal;
  }

  /** Null: the agent had no folder of its own when it was made. */
  get own(): OwnFolder | null {
    return this.#parts.own ?? null;
  }

  /** The content at the last check. */
  get current(): AgentFiles {
    return this.#current;
  }

  /** The files of the last check, and those that the agent has written of its channels, each up to a number. */
  async list(most: number): Promise<readonly ListedFile[]> {
    const { shownAs, own } = this.#parts;
    const read = Array.from(this.#known, ([path, { size, problem }]) => {
      return { path: posix.join(shownAs, path), bytes: size, problem, isAgents: false };
    });
    if (own == null) return read.slice(0, most);
    const written: ListedFile[] = [];
    for await (const path of glob("channels/*/{MEMORY.md,memory/*.md}", { cwd: own.root })) {
      const found = await stat(join(own.root, path)).catch(() => null);
      if (found?.isFile() === true)
        written.push({
          path: posix.join(own.shownAs, path),
          bytes: found.size,
          problem: null,
          isAgents: true,
        });
      if (written.length >= most) break;
    }
    return [...read.slice(0, most), ...written];
  }

  /** Paths of the other files of a skill, in its folder. */
  async skillFiles(skill: AgentFile): Promise<readonly string[]> {
    return listSkillFiles(this.#folderOf(skill));
  }

  /** @throws SkillFileError if it does not exist or must not be read */
  async readSkillFile(skill: AgentFile, file: string): Promise<string> {
    return readSkillFile(this.#folderOf(skill), file);
  }

  #folderOf({ path }: AgentFile): string {
    const { root, shownAs } = this.#parts;
    return join(root, posix.relative(shownAs, posix.dirname(path)));
  }

  /**
   * Reads changed files. Concurrent callers share one check. Never throws: an unreadable file is reported to the
   * operator as a problem.
   * @returns null: the last check is less than a second ago
   */
  refresh(): Promise<void> | null {
    if (this.#look !== null) return this.#look;
    if (this.#parts.clock() - this.#lookedAt < LOOK_EVERY_MS) return null;
    this.#look = this.#lookOnce();
    return this.#look;
  }

  async #lookOnce(): Promise<void> {
    try {
      await this.#read();
    } catch (error) {
      this.#tell([`${this.#parts.shownAs}: ${errorMessage(error)}`]);
    } finally {
      this.#look = null;
      this.#lookedAt = this.#parts.clock();
    }
  }

  async #read(): Promise<void> {
    const { root } = this.#parts;
    const candidates = (await isFolder(root)) ? await this.#candidates() : [];
    const known = new Map<string, Known>();
    const found = await Promise.all(candidates.map(async (candidate) => this.#readOne(candidate)));
    for (const [index, { path }] of candidates.entries()) {
      const one = found[index] ?? null;
      if (one !== null) known.set(path, one);
    }
    const isSame =
      known.size === this.#known.size &&
      known.entries().every(([path, one]) => this.#known.get(path) === one);
    if (isSame) return;
    this.#known = known;
    const all = [...known.values()];
    const next: AgentFiles = {
      folder: this.shownAs,
      files: all.flatMap(({ file }) => (file === null ? [] : [file])),
      problems: all.flatMap(({ problem }) => (problem === null ? [] : [problem])),
    };
    const refusal = next.files.length === 0 ? null : this.#parts.refusalOf(next);
    if (refusal === null)
      this.#current = next.files.length === 0 && next.problems.length === 0 ? NO_FILES : next;
    this.#refusal = refusal;
    this.#tell(refusal === null ? next.problems : [...next.problems, refusal]);
  }

  async #candidates(): Promise<Candidate[]> {
    const { id, today } = this.#parts;
    const inFolder = async (folder: string, kind: FileKind): Promise<Candidate[]> => {
      const names = await this.#names(posix.join(id, folder));
      return names
        .filter((name) => name.endsWith(".md"))
        .slice(0, MOST_FILES)
        .map((name) => ({ kind, path: posix.join(id, folder, name) }));
    };
    const [rules, channels, users, own, shared] = await Promise.all([
      inFolder("rules", "rule"),
      inFolder("channels", "channel"),
      inFolder("users", "user"),
      this.#names(posix.join(id, "skills")),
      this.#names(SHARED_SKILLS),
    ]);
    const candidateIn = (folder: string, name: string): Candidate => {
      return { kind: "skills", path: posix.join(folder, name, "SKILL.md") };
    };
    // An agent's own skill overrides a shared one with the same name.
    const skills = [
      ...own.map((name) => candidateIn(posix.join(id, "skills"), name)),
      ...shared.filter((name) => !own.includes(name)).map((name) => candidateIn(SHARED_SKILLS, name)),
    ];
    return [
      { kind: "policy", path: "POLICY.md" },
      { kind: "soul", path: posix.join(id, "SOUL.md") },
      { kind: "workspace", path: posix.join(id, "WORKSPACE.md") },
      { kind: "memory", path: posix.join(id, "MEMORY.md") },
      { kind: "note", path: posix.join(id, "memory", `${today()}.md`) },
      ...rules,
      ...channels,
      ...users,
      ...skills.slice(0, MOST_FILES),
    ];
  }

  /** Names in a folder, sorted; empty if there is no such folder. */
  async #names(folder: string): Promise<string[]> {
    try {
      return (await readdir(join(this.#parts.root, folder))).toSorted();
    } catch (error) {
      if (isMissingFile(error)) return [];
      throw error;
    }
  }

  /** @returns null: no such file. The same object as before if the file is unchanged. */
  async #readOne({ kind, path }: Candidate): Promise<Known | null> {
    const absolute = join(this.#parts.root, path);
    const shown = posix.join(this.#parts.shownAs, path);
    let mark: { readonly mtimeMs: number; readonly size: number };
    try {
      const found = await stat(absolute);
      // Reading a pipe would never end.
      if (!found.isFile()) return this.#unread(path, `${shown}: is no ordinary file`);
      mark = { mtimeMs: found.mtimeMs, size: found.size };
    } catch (error) {
      if (isMissingFile(error)) return null;
      return this.#unread(path, `${shown}: ${errorMessage(error)}`);
    }
    const before = this.#known.get(path);
    if (before?.mtimeMs === mark.mtimeMs && before.size === mark.size) return before;
    const outcome = readTextFile(absolute, shown);
    if (outcome === null) return null;
    if ("problem" in outcome) {
      const { file, line, message } = outcome.problem;
      const place = line === null ? file : `${file}:${line}`;
      return { ...mark, file: null, problem: `${place}: ${message}` };
    }
    return { ...mark, ...parse(kind, shown, outcome.value) };
  }

  /** An unreadable file. The same object as before if the problem is the same. */
  #unread(path: string, problem: string): Known {
    const before = this.#known.get(path);
    if (before?.problem === problem && before.file === null) return before;
    return { mtimeMs: 0, size: 0, file: null, problem };
  }

  #tell(problems: readonly string[]): void {
    for (const problem of problems) if (!this.#told.has(problem)) this.#parts.onProblem(problem);
    this.#told = new Set(problems);
  }
}

/** A file without its front matter; an empty one counts as missing. Pure. */
function parse(kind: FileKind, path: string, text: string): Pick<Known, "file" | "problem"> {
  const name = posix.basename(path, ".md");
  const plain = { kind, path, name, description: "", channels: null, paths: null, channel: null };
  const { values, body, problem } =
    kind === "rule" || kind === "skills" ? readFrontMatter(text) : { values: {}, body: text, problem: null };
  // A rule with unreadable globs must not apply everywhere, so it applies nowhere.
  if (problem !== null) return { file: null, problem: `${path}:${problem}` };
  if (kind === "rule") {
    const matter = ruleMatter.safeParse(values);
    if (!matter.success)
      return {
        file: null,
        problem: `${path}:1: channels and paths are to be globs, such as "discord:SERVER/#ops*", with few stars`,
      };
    const { channels, paths } = matter.data;
    return fileOf({ ...plain, text: body, channels: globOf(channels), paths: globOf(paths) });
  }
  if (kind === "skills") {
    const skill = skillIn(values, text, posix.basename(posix.dirname(path)));
    if ("problem" in skill) return { file: null, problem: `${path}:${skill.problem}` };
    return { file: { ...plain, text: body, ...skill }, problem: null };
  }
  return fileOf({ ...plain, text: body });
}

function fileOf(file: AgentFile): Pick<Known, "file" | "problem"> {
  return { file: file.text.trim() === "" ? null : file, problem: null };
}

/** Names with a remembered match, enough for the active channels of a busy daemon. */
const KNOWN_NAMES = 1000;

/** No pattern is no condition. Matching takes a hundredth of a millisecond, so each name is matched once. */
function globOf(patterns: readonly string[]): Glob | null {
  if (patterns.length === 0) return null;
  const known = new Map<string, boolean>();
  return (name) => {
    const before = known.get(name);
    if (before !== undefined) return before;
    if (known.size >= KNOWN_NAMES) known.clear();
    const is = patterns.some((pattern) => posix.matchesGlob(name, pattern));
    known.set(name, is);
    return is;
  };
}

/** Whether an agent has a folder of its own. @param root absolute path of all agents' folders; undefined: there is none */
export function hasOwnFolder(root: string | undefined, id: string): boolean {
  return root !== undefined && existsSync(join(root, id));
}

/**
 * Whether there is a folder for skills: an agent without one gets no tools for them. @param root absolute path of all
 * agents' folders
 */
export function mayHaveSkills(root: string, id: string): boolean {
  return existsSync(join(root, id, "skills")) || existsSync(join(root, SHARED_SKILLS));
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    if (isMissingFile(error)) return false;
    throw error;
  }
}
