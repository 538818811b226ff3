import { type FSWatcher, statSync, watch } from "node:fs";
import { dirname } from "node:path";

export interface FileWatchParts {
  /** Absolute paths of files, and of folders of which it counts whether they are there. */
  readonly paths: () => readonly string[];
  /** They have changed, and are at rest. Must not throw. */
  readonly onChange: () => void;
  readonly timing?: Partial<WatchTiming>;
}

/** Times in ms. */
export interface WatchTiming {
  /** From a sign of a change to the look. */
  readonly soonMs: number;
  /** So long files have to be at rest: an editor writes in pieces. */
  readonly restMs: number;
  /** So long, where one that was there is empty or gone: an editor may put another in its place. */
  readonly emptyMs: number;
  /** Between two looks without any sign: some file systems give none. */
  readonly pollMs: number;
  /** The same where a folder cannot be watched. */
  readonly blindMs: number;
}

const TIMING: WatchTiming = { soonMs: 100, restMs: 250, emptyMs: 1000, pollMs: 5000, blindMs: 1000 };
const ABSENT = "-";
/** As if there were no paths. */
const NOTHING: Look = { marks: new Map(), text: "[]", empty: new Set() };

interface Look {
  /** By path: what tells one state of a file from another. */
  readonly marks: ReadonlyMap<string, string>;
  readonly text: string;
  /** Files that are empty or not there. */
  readonly empty: ReadonlySet<string>;
}

/**
 * Tells of changed files once they are at rest. Folders are watched, and not files: an editor that saves puts another file in the place
 * of the one before. Behind that it looks now and then, at what the files are and not at what they hold.
 */
export class FileWatch implements Disposable {
  readonly #parts: FileWatchParts;
  readonly #timing: WatchTiming;
  readonly #watchers = new Map<string, FSWatcher>();
  #timer: NodeJS.Timeout | undefined;
  #poll: NodeJS.Timeout | undefined;
  /** As they were when they were told, or when it began. */
  #told: Look | null = null;
  /** As they were at the look before this one, if that was another state than the one that was told. */
  #seen: Look | null = null;
  #isClosed = false;

  constructor(parts: FileWatchParts) {
    this.#parts = parts;
    this.#timing = { ...TIMING, ...parts.timing };
  }

  /** @param isKnown what is there now; default: it is. What is not known is told of once it is at rest. */
  start(isKnown = true): void {
    this.#told = isKnown ? this.#read() : NOTHING;
    this.#look();
  }

  /** Tells of what is there now once more, with the next look. */
  again(): void {
    this.#told = NOTHING;
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#poll);
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  /** Watches the folders that there are, and looks again later. */
  #arm(): void {
    if (this.#isClosed || this.#told === null) return;
    const marks = (this.#seen ?? this.#told).marks;
    const folders = new Set(
      [...marks].flatMap(([path, mark]) => [dirname(path), ...(isFolder(mark) ? [path] : [])]),
    );
    for (const [folder, watcher] of this.#watchers)
      if (!folders.has(folder)) {
        watcher.close();
        this.#watchers.delete(folder);
      }
    let isBlind = false;
    for (const folder of folders) if (!this.#watchers.has(folder) && !this.#watch(folder)) isBlind = true;
    clearTimeout(this.#poll);
    const { pollMs, blindMs } = this.#timing;
    this.#poll = setTimeout(() => this.#look(), isBlind ? blindMs : pollMs).unref();
  }

  /** @returns false: it is there, and cannot be watched */
  #watch(folder: string): boolean {
    if (!isFolder(markOf(folder).mark)) return true;
    try {
      const watcher = watch(folder, { persistent: false }, () => this.#soon(this.#timing.soonMs));
      // A folder that was moved or deleted: another may be in its place.
      watcher.on("error", () => this.#drop(folder, watcher));
      this.#watchers.set(folder, watcher);
      return true;
    } catch {
      // The system has no watch left, or the file system none at all.
      return false;
    }
  }

  #drop(folder: string, watcher: FSWatcher): void {
    watcher.close();
    if (this.#watchers.get(folder) === watcher) this.#watchers.delete(folder);
    this.#soon(this.#timing.soonMs);
  }

  #soon(ms: number): void {
    if (this.#isClosed) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#look();
    }, ms).unref();
  }

  #look(): void {
    if (this.#isClosed || this.#told === null) return;
    const now = this.#read();
    this.#renew(now);
    if (now.text === this.#told.text) this.#seen = null;
    else if (now.text === this.#seen?.text) {
      this.#told = now;
      this.#seen = null;
      this.#parts.onChange();
    } else {
      const told = this.#told;
      this.#seen = now;
      const isEmptied = [...now.empty].some((path) => told.marks.has(path) && !told.empty.has(path));
      this.#soon(isEmptied ? this.#timing.emptyMs : this.#timing.restMs);
    }
    this.#arm();
  }

  /** A folder in the place of one that was watched has to be watched itself. */
  #renew({ marks }: Look): void {
    const before = (this.#seen ?? this.#told)?.marks;
    for (const [path, mark] of marks) {
      const watcher = this.#watchers.get(path);
      if (watcher === undefined || before?.get(path) === mark) continue;
      watcher.close();
      this.#watchers.delete(path);
    }
  }

  #read(): Look {
    const marks = new Map<string, string>();
    const empty = new Set<string>();
    for (const path of this.#parts.paths()) {
      const { mark, isEmpty } = markOf(path);
      marks.set(path, mark);
      if (isEmpty) empty.add(path);
    }
    return { marks, empty, text: JSON.stringify([...marks]) };
  }
}

function markOf(path: string): { readonly mark: string; readonly isEmpty: boolean } {
  try {
    const found = statSync(path);
    const { ino, size, mtimeMs, ctimeMs } = found;
    if (found.isDirectory()) return { mark: `folder ${ino}`, isEmpty: false };
    return { mark: `${ino} ${size} ${mtimeMs} ${ctimeMs}`, isEmpty: size === 0 };
  } catch {
    // Why it cannot be read, whoever reads it is told.
    return { mark: ABSENT, isEmpty: true };
  }
}

function isFolder(mark: string): boolean {
  return mark.startsWith("folder ");
}
