import type pg from "pg";

/** Where the database is: an URL, or the socket of the embedded server. */
export type Connection =
  | { readonly url: string }
  | { readonly host: string; readonly port: number; readonly user: string; readonly database: string };

/** A row as statements return it: the column `from_seq` has the key `fromSeq`. Values of jsonb keep their own keys. */
export type CamelRow<Row> = {
  [Key in keyof Row]: Key extends `${string}_${string}` ? never : Row[Key];
};

/** Something that runs one statement: the pool, or a client in a transaction. */
export interface Queryable {
  query<Row extends pg.QueryResultRow & CamelRow<Row>>(
    statement: Statement,
    values?: readonly unknown[],
  ): Promise<Row[]>;
}

/** A statement with the name under which the server keeps its plan. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  /** No answer for so long is an error, ms. Default: two minutes. */
  readonly limitMs?: number;
}
