import { jsonOf } from "../../core/json.ts";
import { createHash, type Hash } from "node:crypto";
import { z } from "zod";
import { errorCode, errorMessage, OperatorError } from "../../core/errors.ts";
import { KEY_TEXT } from "../database/signing-key.ts";

/*
 * The file of a backup, compressed with gzip: a line of JSON that says what is in it; of each table its rows as `copy` writes them,
 * and a line `\.`; a line of JSON with the number of rows of each, and a digest of all bytes before it.
 */

const FORMAT = 1;
/** Ends a table's rows: in them a backslash is written twice. */
export const END_OF_ROWS = "\\.\n";
const LINE_FEED = 0x0a;
/** Longest line of JSON, in bytes: a head names some hundred tables with their columns. */
const LONGEST_LINE = 1024 * 1024;

const name = z.string().regex(/^[a-z_][a-z0-9_]*$/);
const tableSchema = z.object({
  name,
  columns: z.array(name).min(1).refine(areDistinct),
  /** The last number that each sequence of its columns gave; null: it has given no number. */
  numbered: z.record(name, z.number().int().min(1).nullable()),
});
/** A file with these is a backup, if perhaps of another version. */
const kindSchema = z.object({ weir: z.literal("backup"), format: z.number().int().min(1) });
const headSchema = kindSchema.extend({
  format: z.literal(FORMAT),
  schema: z.number().int().min(1),
  at: z.iso.datetime(),
  signingKey: z.string().regex(KEY_TEXT).nullable(),
  /** Each behind those that its rows refer to. */
  tables: z
    .array(tableSchema)
    .min(1)
    .refine((tables) => areDistinct(tables.map((one) => one.name))),
});
const footSchema = z.object({ rows: z.record(name, z.number().int().min(0)), sha256: z.string() });

export type BackupHead = Omit<z.infer<typeof headSchema>, "weir" | "format">;
export type BackupTable = BackupHead["tables"][number];
export type RowCounts = Readonly<Record<string, number>>;

export interface ReadBackup {
  readonly head: BackupHead;
  readonly rows: RowCounts;
  /** Of all bytes before the last line. */
  readonly sha256: string;
  /** How many these are. */
  readonly bytes: number;
}

function areDistinct(names: readonly string[]): boolean {
  return new Set(names).size === names.length;
}

export function headLine(head: BackupHead): string {
  return `${JSON.stringify({ weir: "backup", format: FORMAT, ...head })}\n`;
}

/** Counts and digests a backup while it is written. */
export class BackupSums {
  readonly #hash: Hash = createHash("sha256");
  readonly #rows = new Map<string, number>();
  #bytes = 0;

  /** @returns the same bytes */
  add<Bytes extends Buffer | string>(bytes: Bytes): Bytes {
    this.#hash.update(bytes);
    this.#bytes += Buffer.byteLength(bytes);
    return bytes;
  }

  count(table: string, rows: number): void {
    this.#rows.set(table, (this.#rows.get(table) ?? 0) + rows);
  }

  get bytes(): number {
    return this.#bytes;
  }

  counted(table: string): number {
    return this.#rows.get(table) ?? 0;
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
 * @throws OperatorError wherever it is damaged, cut, or no backup, with the place
 */
export class BackupReader {
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #file: string;
  readonly #sums = new BackupSums();
  #held: Buffer = Buffer.alloc(0);
  /** Where it reads, for errors. */
  #place: () => string = () => "in its first line";

  /** @param bytes not compressed; @param file for errors */
  constructor(bytes: AsyncIterable<Buffer>, file: string) {
    this.#chunks = bytes[Symbol.asyncIterator]();
    this.#file = file;
  }

  async head(): Promise<BackupHead> {
    const line = this.#sums.add(await this.#line());
    const value = jsonOf(line);
    const kind = kindSchema.safeParse(value).data;
    if (kind === undefined) throw this.#noBackup("its first line is not that of a backup");
    if (kind.format > FORMAT)
      throw new OperatorError(
        `${this.#file} has format ${kind.format}, and this Weir reads ${FORMAT}: restore it with the version that wrote it, or a newer one.`,
      );
    const { data, error } = headSchema.safeParse(value);
    if (data !== undefined) return data;
    throw this.#damaged(`${error.issues[0]?.path.join(".") ?? "it"} cannot be so`);
  }

  /** The rows of the next table, in pieces of any length. */
  async *rows({ name: table }: Pick<BackupTable, "name">): AsyncGenerator<Buffer> {
    this.#sums.count(table, 0);
    this.#place = () => `in table ${table}, after row ${this.#sums.counted(table)}`;
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

  /** To be called after all tables. */
  async foot(): Promise<Omit<ReadBackup, "head">> {
    this.#place = () => "in its last line";
    const { data } = footSchema.safeParse(jsonOf(await this.#line()));
    const { rows, sha256 } = this.#sums.foot();
    if (data?.sha256 !== sha256 || JSON.stringify(data.rows) !== JSON.stringify(rows))
      throw this.#damaged("it does not agree with what stands before it");
    this.#place = () => "after its last line";
    if (this.#held.length > 0 || (await this.#next()) !== null) throw this.#damaged("something stands there");
    return { rows, sha256, bytes: this.#sums.bytes };
  }

  async #line(): Promise<string> {
    for (;;) {
      const end = this.#held.indexOf(LINE_FEED);
      if (end !== -1) {
        const line = this.#held.subarray(0, end + 1).toString("utf8");
        this.#held = this.#held.subarray(end + 1);
        return line;
      }
      if (this.#held.length > LONGEST_LINE) throw this.#damaged("it is too long");
      await this.#more();
    }
  }

  async #more(): Promise<void> {
    const next = await this.#next();
    if (next === null) throw this.#damaged("it ends there");
    this.#held = this.#held.length === 0 ? next : Buffer.concat([this.#held, next]);
  }

  /** @returns null: there is no more */
  async #next(): Promise<Buffer | null> {
    try {
      const next = await this.#chunks.next();
      return next.done === true ? null : next.value;
    } catch (cause) {
      throw this.#unread(cause);
    }
  }

  /** @param cause of the file system, or of what unpacks the file */
  #unread(cause: unknown): OperatorError {
    const code = errorCode(cause);
    if (code === "Z_BUF_ERROR") return this.#damaged("it ends there", cause);
    // Nothing of it could be unpacked.
    if (code === "Z_DATA_ERROR" && this.#sums.bytes === 0 && this.#held.length === 0)
      return this.#noBackup("it does not begin as what gzip writes", cause);
    if (code.startsWith("Z_")) return this.#damaged(errorMessage(cause), cause);
    return new OperatorError(`${this.#file} cannot be read: ${errorMessage(cause)}.`, { cause });
  }

  #noBackup(why: string, cause?: unknown): OperatorError {
    return new OperatorError(`${this.#file} is no backup: ${why}.`, { cause });
  }

  #damaged(why: string, cause?: unknown): OperatorError {
    return new OperatorError(`${this.#file} is damaged ${this.#place()}: ${why}.`, { cause });
  }
}
