import { type FSWatcher, statSync, watch } from "node:fs";
import { dirname } from "node:path";

export interface FileWatchParts {
  /** Absolute paths of files, and of folders that are only checked for existence. */
  readonly paths: () => readonly string[];
  /** They have changed and are at rest. Must not throw. */
  readonly onChange: () => void;
  readonly timing?: Partial<WatchTiming>;
}

/** Times in ms. */
export interface WatchTiming {
  /** From a notification to the check. */
  readonly soonMs: number;
  /** Time without changes before a file counts as at rest: editors write in pieces. */
  readonly restMs: number;
  /** The same for a file that became empty or disappeared: an editor may replace it. */
  readonly emptyMs: number;
  /** Between two checks without a notification: some file systems send none. */
  readonly pollMs: number;
  /** The same where a folder cannot be watched. */
  readonly blindMs: number;
}

const TIMING: WatchTiming = { soonMs: 100, restMs: 250, emptyMs: 1000, pollMs: 5000, blindMs: 1000 };
const ABSENT = "-";
/** The state without paths. */
const NOTHING: Look = { marks: new Map(), text: "[]", empty: new Set() };

interface Look {
  /** By path: a mark that differs between two states of a file. */
  readonly marks: ReadonlyMap<string, string>;
  readonly text: string;
  /** Empty or missing files. */
  readonly empty: ReadonlySet<string>;
}

/**
 * Reports changed files once they are at rest. It watches folders, not files: an editor that saves replaces the file.
 * It also polls, comparing the files' metadata and not their contents.
 */
export class FileWatch implements Disposable {
  readonly #parts: FileWatchParts;
  readonly #timing: WatchTiming;
  readonly #watchers = new Map<string, FSWatcher>();
  #timer: NodeJS.Timeout | undefined;
  #poll: NodeJS.Timeout | undefined;
  /** The state at the last report, or at the start. */
  #told: Look | null = null;
  /** The state at the last check, if it differs from the reported one. */
  #seen: Look | null = null;
  #isClosed = false;

  constructor(parts: FileWatchParts) {
    this.#parts = parts;
    this.#timing = { ...TIMING, ...parts.timing };
  }

  /** @param isKnown whether the present state is known; default: yes. Otherwise it is reported once it is at rest. */
  start(isKnown = true): void {
    this.#told = isKnown ? this.#read() : NOTHING;
    this.#look();
  }

  /** Reports the present state once more, at the next check. */
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

  /** Watches the existing folders, and schedules the next check. */
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

  /** @returns false: the folder exists, but cannot be watched */
  #watch(folder: string): boolean {
    if (!isFolder(markOf(folder).mark)) return true;
    try {
      const watcher = watch(folder, { persistent: false }, () => this.#soon(this.#timing.soonMs));
      // The folder was moved or deleted: another may take its place.
      watcher.on("error", () => this.#drop(folder, watcher));
      this.#watchers.set(folder, watcher);
      return true;
    } catch {
      // The system is out of watches, or the file system supports none.
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

  /** A folder that replaced a watched one must be watched itself. */
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
    // The reader of the file reports why it cannot be read.
    return { mark: ABSENT, isEmpty: true };
  }
}

function isFolder(mark: string): boolean {
  return mark.startsWith("folder ");
}
