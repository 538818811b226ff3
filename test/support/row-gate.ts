import type { OpenStore } from "../store/open-store.ts";
import { until } from "./patience.ts";

/** Holds back a daemon's statements from outside, like a server that is slow at this place. */
export interface RowGate extends AsyncDisposable {
  /** Resolves once a statement waits there. */
  reached(): Promise<void>;
  /** Lets it continue. */
  open(): Promise<void>;
  /** Ends the waiting statement, like a server that has noticed the daemon's end, and lets all others pass. */
  cut(): Promise<void>;
}

let count = 0;

/** @param on `insert on entries`; @param when a condition on `new` and `old` */
export async function gateRows(outside: OpenStore, on: string, when: string): Promise<RowGate> {
  const number = ++count;
  await outside.sql(
    `create function gate_${number}() returns trigger language plpgsql as $$
     begin
       perform pg_advisory_xact_lock(${number});
       return new;
     end $$;
     create trigger gate_${number} before ${on} for each row when (${when}) execute function gate_${number}()`,
  );
  const end = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  const holding = outside.db.transaction(async (client) => {
    await client.query("", `select pg_advisory_xact_lock(${number})`);
    locked.resolve();
    await end.promise;
  });
  await Promise.race([locked.promise, holding]);
  const waiting = `locktype = 'advisory' and objid = ${number} and not granted
    and database = (select oid from pg_database where datname = current_database())`;
  const open = async (): Promise<void> => {
    end.resolve();
    await holding;
  };
  return {
    reached: async () =>
      until(
        `a statement at ${on}`,
        async () => (await outside.sql(`select from pg_locks where ${waiting}`)).length > 0,
      ),
    open,
    async cut() {
      // Also statements that wait for its rows, which would come next.
      await outside.sql(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      await open();
      await outside.sql(`drop function gate_${number} cascade`);
    },
    [Symbol.asyncDispose]: open,
  };
}
