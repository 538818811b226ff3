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
  /**
   * @param name the server keeps the statement's plan by this name; "": no plan is kept
   * @param limitMs the longest wait for the answer, then an error, ms. Default: two minutes
   */
  query<Row extends pg.QueryResultRow & CamelRow<Row>>(
    name: string,
    text: string,
    values?: readonly unknown[],
    limitMs?: number,
  ): Promise<Row[]>;
}
