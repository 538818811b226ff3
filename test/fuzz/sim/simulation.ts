import { atRest, enter, leave } from "./builtins.ts";
import type { Connection } from "../../../src/store/database/queryable.ts";
import { Random } from "../random.ts";
import { PostgresPort } from "./postgres-port.ts";
import type { Latencies } from "./latencies.ts";
import type { Trace } from "./trace.ts";
import { VirtualTime } from "./virtual-time.ts";

/**
 * Does some work in time that a seed makes: whatever it waits for comes one at a time. When nothing goes on by itself, the next statement is
 * done; when there is none, the next timer fires. So the same seed gives the same run, to the order of its awaits.
 */
export async function simulate<Result>(
  seed: number,
  connection: Connection,
  parts: { readonly trace: Trace; readonly latencies: Latencies },
  work: () => Promise<Result>,
): Promise<{ readonly outcome: Result; readonly statements: number }> {
  const time = new VirtualTime();
  await using postgres = await PostgresPort.open(connection, { time, ...parts });
  enter({ time, random: new Random(seed * 31 + 7) });
  try {
    let isOver = false;
    const result = work().finally(() => (isOver = true));
    // Told below.
    result.catch(() => undefined);
    for (;;) {
      await atRest();
      if (isOver) return { outcome: await result, statements: postgres.statements };
      if (await postgres.step()) continue;
      if (!time.fireNext()) throw new Error("nothing is left to happen, and the run is not over");
    }
  } finally {
    leave();
  }
}
