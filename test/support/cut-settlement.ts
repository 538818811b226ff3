import { translateDatabaseError } from "../../src/store/database/errors.ts";
import type { TestWeir } from "./weir.ts";

/**
 * Ends the connection after the commit that settles the first turn, so that the daemon does not hear of it. Resolves then.
 * @param before is awaited before each settlement
 */
export async function cutAfterFirstSettlement(
  { daemon }: TestWeir,
  before: () => Promise<void> = async () => Promise.resolve(),
): Promise<void> {
  const { turns } = daemon.store;
  const settle = turns.settle.bind(turns);
  const { promise, resolve } = Promise.withResolvers<void>();
  let isFirst = true;
  turns.settle = async (...settlement) => {
    await before();
    const result = await settle(...settlement);
    if (!isFirst) return result;
    isFirst = false;
    resolve();
    throw translateDatabaseError(new Error("Connection terminated unexpectedly"));
  };
  return promise;
}
