/**
 * A daemon that is wrong, to be found out: loaded into it (`--import`), it keeps a list and a timer for each statement that it sends to
 * its database.
 */
import pg from "pg";

/** A megabyte. */
const KEPT_NUMBERS = 125_000;
const HOUR_MS = 3_600_000;

const kept: number[][] = [];

// oxlint-disable-next-line typescript/unbound-method -- it is called on the client that it was called on
pg.Client.prototype.query = new Proxy(pg.Client.prototype.query, {
  apply(target, client: unknown, values: unknown[]): unknown {
    kept.push(Array<number>(KEPT_NUMBERS).fill(kept.length));
    setTimeout(() => undefined, HOUR_MS);
    return Reflect.apply(target, client, values);
  },
});
