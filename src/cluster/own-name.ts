import type { Logger } from "pino";
import { pause, steadyNow } from "../async/clock.ts";
import { errorMessage, OperatorError } from "../core/errors.ts";
import type { BrokerConnection } from "./broker-connection.ts";
import type { Names } from "./names.ts";

/*
 * A daemon's name is a queue that its connection alone may use: the broker refuses it to every other connection, and takes it away with
 * the connection. So a daemon that was killed leaves its name at once, and one that is frozen or cut off leaves it after some heartbeats,
 * which no lock of a database session does. Who still has the name after that answers the broker: it lives.
 */

/** How often a name is asked for that another has, ms. */
const LOOK_MS = 100;
/** The broker gives up whom it does not hear before this, ms: two to three heartbeats, and some time. */
const LIVING_MS = 10_000;
/** Who leaves waits no longer for its name to be free, ms: it is when the connection ends. */
const GIVE_BACK_MS = 2000;
/** RESOURCE_LOCKED: the queue is another connection's. */
const LOCKED = 405;

/** Another daemon of the cluster has the name, and lives. */
export class NameTakenError extends OperatorError {
  /** @param where who has it, in words; null: not known */
  constructor(name: string, where: string | null = null) {
    super(
      `Another daemon of this cluster is called ${name}, and runs${where === null ? "" : ` (${where})`}. Give this one a name of its own ` +
        "(name under [cluster] in config.toml), or end the other one: each daemon of a cluster has its own.",
    );
  }
}

/**
 * Takes a daemon's name for as long as the connection lasts. One that an earlier connection has is waited for.
 * @param options.signal ends the wait
 * @returns gives it back earlier; never rejects
 * @throws NameTakenError if another daemon has it that lives, Error if the connection is over, or the wait is ended
 */
export async function takeName(
  connection: BrokerConnection,
  names: Names,
  name: string,
  options: { readonly log: Logger; readonly livingMs?: number | undefined; readonly signal: AbortSignal },
): Promise<() => Promise<void>> {
  const { log, livingMs = LIVING_MS, signal } = options;
  const queue = names.daemon(name);
  for (const askedAt = steadyNow(); ;) {
    const outcome = await asked(connection, queue);
    if (outcome === "taken" && steadyNow() - askedAt > livingMs) throw new NameTakenError(name);
    if (outcome === "ours") return async () => givenBack(connection, queue);
    if (outcome !== "taken") {
      // A broker that cannot tell is no reason to keep channels without a home.
      log.warn({ name, why: outcome.why }, "name_not_taken");
      return async () => undefined;
    }
    await pause(LOOK_MS, signal);
    signal.throwIfAborted();
  }
}

/** @throws Error if the connection is over */
async function asked(
  connection: BrokerConnection,
  queue: string,
): Promise<"ours" | "taken" | { readonly why: string }> {
  try {
    await connection.onChannel(async (channel) =>
      channel.assertQueue(queue, { exclusive: true, durable: false }),
    );
    return "ours";
  } catch (error) {
    if (!connection.isOpen) throw error;
    return isLocked(error) ? "taken" : { why: errorMessage(error) };
  }
}

/** The client's codes are numbers. */
function isLocked(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === LOCKED;
}

async function givenBack(connection: BrokerConnection, queue: string): Promise<void> {
  try {
    await connection.onChannel(async (channel) => channel.deleteQueue(queue), GIVE_BACK_MS);
  } catch {
    // It goes with the connection.
  }
}
