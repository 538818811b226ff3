import type { Database } from "./database.ts";

/** Reads and writes rows of one subject. */
export abstract class Rows {
  protected readonly db: Database;

  constructor(db: Database) {
    this.db = db;
  }
}
