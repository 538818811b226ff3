import { existsSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join, posix } from "node:path";
import { readTextFile } from "../config/text-file.ts";
import { type AgentFile, type AgentFiles, type Glob, NO_FILES } from "../context/sections/section.ts";
import { errorMessage, isMissingFile } from "../core/errors.ts";
import type { FileKind } from "../core/context.ts";
import { readFrontMatter, ruleMatter, skillIn } from "./front-matter.ts";
import { listSkillFiles, readSkillFile } from "./skill-files.ts";

/** Skills for all agents, beside the folder of the agents' folders: where other programs that have skills look as well. */
const SHARED_SKILLS = "../.agents/skills";

/** A file of this name is looked for once in so many ms. */
const LOOK_EVERY_MS = 1000;
/** Files of one kind that are read; more would make each look slow. */
const MOST_FILES = 500;

export interface AgentFolderParts {
  /** Absolute path of the folder of all agents' folders. */
  readonly root: string;
  /** Its name, as the operator knows it. */
  readonly shownAs: string;
  /** Name of the agent's own folder in it. */
  readonly id: string;
  /** YYYY-MM-DD in the agent's time zone. */
  readonly today: () => string;
  /** Milliseconds of a clock that never goes back. */
  readonly clock: () => number;
  /** Why files cannot be used; null: they can. What was read before then stays in use. */
  readonly refusalOf: (files: AgentFiles) => string | null;
  /** Told of each new problem, once. */
  readonly onProblem: (problem: string) => void;
}

/** What a file said when it was read, and how one knows that it still does. */
interface Known {
  readonly mtimeMs: number;
  readonly size: number;
  readonly file: AgentFile | null;
  readonly problem: string | null;
}

/** A file to read: where it is, and as what. */
interface Candidate {
  readonly kind: FileKind;
  /** In the folder of all agents, with `/`. */
  readonly path: string;
}

/** An agent's folder: SOUL.md, rules, notes, skills. Nothing of it is ever written; a `NoteKeeper` has files of its own there. */
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

  /** Its name, as the operator knows it. */
  get shownAs(): string {
    return posix.join(this.#parts.shownAs, this.#parts.id);
  }

  /** Why the files that are there now are not in use; null: they are. */
  get refusal(): string | null {
    return this.#refusal;
  }

  /** What it holds, as of the last look. */
  get current(): AgentFiles {
    return this.#current;
  }

  async skillFiles(skill: AgentFile): Promise<readonly string[]> {
    return listSkillFiles(this.#folderOf(skill));
  }

  async readSkillFile(skill: AgentFile, file: string): Promise<string> {
    return readSkillFile(this.#folderOf(skill), file);
  }

  #folderOf({ path }: AgentFile): string {
    const { root, shownAs } = this.#parts;
    return join(root, posix.relative(shownAs, posix.dirname(path)));
  }

  /**
   * Looks whether files have changed, and reads those that have. Whoever comes while one looks waits for that. Never
   * throws: what cannot be read is a problem that the operator is told.
   * @returns null: the last look is less than a second ago
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
    // An agent's own goes over one of the same name for all.
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

  /** Names in a folder, sorted; none where there is no such folder. */
  async #names(folder: string): Promise<string[]> {
    try {
      return (await readdir(join(this.#parts.root, folder))).toSorted();
    } catch (error) {
      if (isMissingFile(error)) return [];
      throw error;
    }
  }

  /** @returns null: there is no such file. The same object as before, if the file is the same. */
  async #readOne({ kind, path }: Candidate): Promise<Known | null> {
    const absolute = join(this.#parts.root, path);
    const shown = posix.join(this.#parts.shownAs, path);
    let mark: { readonly mtimeMs: number; readonly size: number };
    try {
      const found = await stat(absolute);
      // A pipe would be read for ever.
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

  /** What could not be looked into. The same object as before, where it says the same. */
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

/** A file without its front matter. An empty one is none. Pure. */
function parse(kind: FileKind, path: string, text: string): Pick<Known, "file" | "problem"> {
  const name = posix.basename(path, ".md");
  const plain = { kind, path, name, description: "", channels: null, paths: null, channel: null };
  const { values, body, problem } =
    kind === "rule" || kind === "skills" ? readFrontMatter(text) : { values: {}, body: text, problem: null };
  // A rule that would hold everywhere because its globs cannot be read is worse than one that holds nowhere.
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

/** Names whose match is known; in a busy daemon as many channels are awake. */
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

/** There is a folder for skills: an agent without is given no tools for them. @param root absolute path of all agents' folders */
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
