import { createHash, hash } from "node:crypto";
import { appendFileSync } from "node:fs";

/** Columns that differ from run to run, and decide nothing: numbers of transactions, and what the server calls its sessions. */
const VOLATILE: ReadonlySet<string> = new Set(["snapshot", "xmin", "pid", "started", "since"]);

/** What a run did, in order: two runs of a seed have the same. */
export class Trace {
  readonly #hash = createHash("sha256");
  readonly #file: string | null;

  /** @param file is written the lines themselves, to look where two runs part; null: nothing is */
  constructor(file: string | null) {
    this.#file = file;
  }

  add(line: string): void {
    this.#hash.update(`${line}\n`);
    if (this.#file !== null) appendFileSync(this.#file, `${line}\n`);
  }

  /** Of an answer of Postgres. */
  digest(result: unknown): string {
    const results: unknown[] = Array.isArray(result) ? result : [result];
    const rows = results.map((one) =>
      typeof one === "object" && one !== null ? Reflect.get(one, "rows") : null,
    );
    const text = JSON.stringify(rows, (key, value: unknown) => (VOLATILE.has(key) ? 0 : value));
    return this.#file === null ? hash("sha256", text, "base64") : text;
  }

  /** The whole trace so far. */
  get sum(): string {
    return this.#hash.copy().digest("hex").slice(0, 16);
  }
}
