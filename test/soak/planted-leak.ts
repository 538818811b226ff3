/**
 * A daemon that is wrong, to be found out: loaded into it (`--import`), it keeps some kilobytes for each statement, and a timer for
 * each turn that begins.
 */
import pg from "pg";

const KEPT_NUMBERS = 4000;
const HOUR_MS = 3_600_000;

const kept: number[][] = [];

pg.Client.prototype.query = new Proxy(pg.Client.prototype.query, {
  apply(target, client: unknown, values: unknown[]): unknown {
    kept.push(Array.from({ length: KEPT_NUMBERS }, (_, index) => index + kept.length));
    if (JSON.stringify(values[0] ?? "").includes("begin_turn")) setTimeout(() => undefined, HOUR_MS);
    return Reflect.apply(target, client, values);
  },
});
