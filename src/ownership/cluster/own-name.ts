import type { Logger } from "pino";
import { pause, steadyNow } from "../../async/clock.ts";
import { errorMessage, OperatorError } from "../../core/errors.ts";
import { type BrokerConnection, isRefusedWith } from "./broker-connection.ts";
import type { Names } from "./names.ts";

/*
 * A daemon's name is an exclusive queue: the broker refuses it to every other connection, and deletes it with the connection. A
 * killed daemon frees its name at once, a frozen or disconnected one after a few heartbeats; a database session lock would last
 * longer. A daemon that holds the name beyond that still answers the broker, so it is alive.
 */

/** Interval between attempts to take a name that another daemon holds, ms. */
const LOOK_MS = 100;
/** The broker closes a silent connection within this, ms: two to three heartbeats, and a margin. */
const LIVING_MS = 10_000;
/** Longest wait for the name's queue to be deleted on leaving, ms; the end of the connection frees the name anyway. */
const GIVE_BACK_MS = 2000;
/** RESOURCE_LOCKED: the queue is another connection's. */
const LOCKED = 405;

export class NameTakenError extends OperatorError {
  /** @param where describes the holder for people; null: not known */
  constructor(name: string, where: string | null = null) {
    super(
      `Another daemon of this cluster is called ${name}, and runs${where === null ? "" : ` (${where})`}. Give this one a name of its own ` +
        "(name under [cluster] in config.toml), or end the other one: each daemon of a cluster has its own.",
    );
  }
}

/**
 * Takes a daemon's name for as long as the connection lasts. Waits while another connection holds it.
 * @param options.signal ends the wait
 * @returns frees the name before the connection ends; never rejects
 * @throws NameTakenError if a live daemon holds the name, Error if the connection is over, or the wait is ended
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
      // Continues without the name: channels without a home would be worse.
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
    return isRefusedWith(error, LOCKED) ? "taken" : { why: errorMessage(error) };
  }
}

async function givenBack(connection: BrokerConnection, queue: string): Promise<void> {
  try {
    await connection.onChannel(async (channel) => channel.deleteQueue(queue), GIVE_BACK_MS);
  } catch {
    // The end of the connection frees the name.
  }
}
