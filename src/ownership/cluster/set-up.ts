import type { Channel } from "amqplib";
import { pause } from "../../async/clock.ts";
import type { BrokerConnection } from "./broker-connection.ts";
import { differs } from "./declare-queue.ts";
import { MEMBER_QUEUE, type Names } from "./names.ts";

/** Interval between attempts to get the lock for creating queues, ms; its holder may take some seconds. */
const LOOK_MS = 100;

/** The queues of a set of leases, which are numbered from 0. */
export interface QueueSet {
  readonly leases: number;
  /** Whether each lease has a queue of wakes. */
  readonly hasWakes: boolean;
}

/**
 * Waits until this daemon alone creates the queues, or all of them exist. If two daemons create the same quorum queue at once, the
 * broker may answer one of them before the queue is usable. Deletes the queues of an older version that no daemon uses.
 * @returns releases the lock; call it once the queue of the members exists, which is created last
 * @throws Error if the connection is over
 */
export async function takeSetUp(
  connection: BrokerConnection,
  names: Names,
  set: QueueSet,
): Promise<() => Promise<void>> {
  for (;;) {
    if ((await lookAtMembers(connection, names)) === "ready") return async () => undefined;
    // Exclusive: refused to other connections, and deleted with its own.
    if (await isDone(connection, async (channel) => channel.assertQueue(names.setUp, { exclusive: true }))) {
      // Another daemon may have replaced them since.
      if ((await lookAtMembers(connection, names)) === "outdated") await deleteUnused(connection, names, set);
      return async () => {
        await isDone(connection, async (channel) => channel.deleteQueue(names.setUp));
      };
    }
    await pause(LOOK_MS);
  }
}

/** `outdated`: an older version made the queue of the members, and no daemon uses it. */
async function lookAtMembers(
  connection: BrokerConnection,
  names: Names,
): Promise<"ready" | "missing" | "outdated"> {
  const consumers = await consumersOf(connection, names.members);
  if (consumers === null) return "missing";
  if (consumers > 0) return "ready";
  return (await differs(connection, names.members, names.expiring(MEMBER_QUEUE))) ? "outdated" : "ready";
}

/** Deletes the queues without consumers. That of the members is the last: after a crash the next daemon continues. */
async function deleteUnused(
  connection: BrokerConnection,
  names: Names,
  { leases, hasWakes }: QueueSet,
): Promise<void> {
  const ids = Array.from({ length: leases }, (_, id) => id);
  const queues = ids.flatMap((id) => (hasWakes ? [names.lease(id), names.wakes(id)] : [names.lease(id)]));
  for (const queue of [...queues, names.members])
    if ((await consumersOf(connection, queue)) === 0)
      await isDone(connection, async (channel) => channel.deleteQueue(queue));
}

/** @returns null: there is no such queue, or it is out of reach @throws Error if the connection is over */
async function consumersOf(connection: BrokerConnection, queue: string): Promise<number | null> {
  let consumers: number | null = null;
  await isDone(connection, async (channel) => {
    ({ consumerCount: consumers } = await channel.checkQueue(queue));
  });
  return consumers;
}

/** @returns whether the broker granted the request; a refusal closes its channel only @throws Error if the connection is over */
async function isDone(
  connection: BrokerConnection,
  ask: (channel: Channel) => Promise<unknown>,
): Promise<boolean> {
  try {
    await connection.onChannel(ask);
    return true;
  } catch (error) {
    if (connection.isOpen) return false;
    throw error;
  }
}
