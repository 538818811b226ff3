import { createHash, type Hash } from "node:crypto";
import { z } from "zod";
import { OperatorError } from "../../core/errors.ts";

/*
 * The file of a backup, compressed with gzip: a line of JSON that says what is in it; of each table its rows as `copy` writes them,
 * and a line `\.`; a line of JSON with the number of rows of each, and a digest of all bytes before it.
 */

const FORMAT = 1;
/** Ends a table's rows: in them a backslash is written twice. */
export const END_OF_ROWS = "\\.\n";
const LINE_FEED = 0x0a;
/** Longest line of JSON, in bytes. */
const LONGEST_LINE = 16 * 1024 * 1024;

const name = z.string().regex(/^[a-z_][a-z0-9_]*$/);
const headSchema = z.object({
  weir: z.literal("backup"),
  format: z.literal(FORMAT),
  /** Version of the database's schema. */
  schema: z.number().int().min(1),
  at: z.iso.datetime(),
  /** What rows are signed with; null: there was none. */
  signingKey: z.string().nullable(),
  /** Each behind those that its rows refer to. */
  tables: z.array(
    z.object({
      name,
      columns: z.array(name).min(1),
      /** What numbers its rows, by column: the last number that was given; null: none. */
      numbered: z.record(name, z.number().int().nullable()),
    }),
  ),
});
const footSchema = z.object({ rows: z.record(name, z.number().int().min(0)), sha256: z.string() });

export type BackupHead = Omit<z.infer<typeof headSchema>, "weir" | "format">;
export type BackupTable = BackupHead["tables"][number];
export type RowCounts = Readonly<Record<string, number>>;

export function headLine(head: BackupHead): string {
  return `${JSON.stringify({ weir: "backup", format: FORMAT, ...head })}\n`;
}

/** Counts and digests a backup while it is written. */
export class BackupSums {
  readonly #hash: Hash = createHash("sha256");
  readonly #rows = new Map<string, number>();

  /** @returns the same bytes */
  add<Bytes extends Buffer | string>(bytes: Bytes): Bytes {
    this.#hash.update(bytes);
    return bytes;
  }

  count(table: string, rows: number): void {
    this.#rows.set(table, (this.#rows.get(table) ?? 0) + rows);
  }

  foot(): { readonly rows: RowCounts; readonly sha256: string } {
    return { rows: Object.fromEntries(this.#rows), sha256: this.#hash.digest("hex") };
  }
}

/** Each row is one line. */
export function countRows(bytes: Buffer): number {
  let rows = 0;
  for (let at = bytes.indexOf(LINE_FEED); at !== -1; at = bytes.indexOf(LINE_FEED, at + 1)) rows++;
  return rows;
}

/**
 * Reads a backup from its beginning to its end.
 * @throws OperatorError wherever it is damaged, cut, or no backup
 */
export class BackupReader {
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #file: string;
  readonly #sums = new BackupSums();
  #held: Buffer = Buffer.alloc(0);

  /** @param bytes not compressed; @param file for errors */
  constructor(bytes: AsyncIterable<Buffer>, file: string) {
    this.#chunks = bytes[Symbol.asyncIterator]();
    this.#file = file;
  }

  async head(): Promise<BackupHead> {
    const line = await this.#line();
    this.#sums.add(line);
    const { data } = headSchema.safeParse(this.#json(line));
    if (data === undefined) throw new OperatorError(`${this.#file} is no backup that this Weir can read.`);
    return data;
  }

  /** The rows of the next table, in pieces of any length. */
  async *rows({ name: table }: Pick<BackupTable, "name">): AsyncGenerator<Buffer> {
    this.#sums.count(table, 0);
    const end = Buffer.from(END_OF_ROWS);
    let isLineStart = true;
    for (;;) {
      if (isLineStart && this.#held.subarray(0, end.length).equals(end)) break;
      const found = this.#held.indexOf(`\n${END_OF_ROWS}`);
      // The beginning of the end may stand at the end of what is held.
      const length = found === -1 ? this.#held.length - end.length : found + 1;
      if (length > 0) {
        const piece = this.#held.subarray(0, length);
        this.#held = this.#held.subarray(length);
        isLineStart = piece.at(-1) === LINE_FEED;
        this.#sums.count(table, countRows(this.#sums.add(piece)));
        yield piece;
      } else await this.#more();
    }
    this.#sums.add(end);
    this.#held = this.#held.subarray(end.length);
  }

  /** To be called behind all tables. @returns what was read */
  async foot(): Promise<RowCounts> {
    const line = await this.#line();
    const { data } = footSchema.safeParse(this.#json(line));
    const { rows, sha256 } = this.#sums.foot();
    const isWhole = data?.sha256 === sha256 && JSON.stringify(data.rows) === JSON.stringify(rows);
    if (!isWhole || this.#held.length > 0 || (await this.#chunks.next()).done !== true) throw this.#damaged();
    return rows;
  }

  async #line(): Promise<string> {
    for (;;) {
      const end = this.#held.indexOf(LINE_FEED);
      if (end !== -1) {
        const line = this.#held.subarray(0, end + 1).toString("utf8");
        this.#held = this.#held.subarray(end + 1);
        return line;
      }
      if (this.#held.length > LONGEST_LINE) throw this.#damaged();
      await this.#more();
    }
  }

  async #more(): Promise<void> {
    let next: IteratorResult<Buffer>;
    try {
      next = await this.#chunks.next();
    } catch (cause) {
      throw this.#damaged(cause);
    }
    if (next.done === true) throw this.#damaged();
    this.#held = this.#held.length === 0 ? next.value : Buffer.concat([this.#held, next.value]);
  }

  #json(line: string): unknown {
    try {
      return JSON.parse(line);
    } catch {
      throw this.#damaged();
    }
  }

  #damaged(cause?: unknown): OperatorError {
    return new OperatorError(`${this.#file} is no backup, or damaged: it does not end as it should.`, {
      cause,
    });
  }
}
