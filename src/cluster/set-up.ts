import type { Channel } from "amqplib";
import { pause } from "../async/clock.ts";
import type { BrokerConnection } from "./broker-connection.ts";
import type { Names } from "./names.ts";

/** Another daemon may be at it for some seconds; how often it is looked whether it has ended, ms. */
const LOOK_MS = 100;

/**
 * Waits until this daemon is the only one that makes the queues of the batons, or they are all there. A broker to which two make
 * the same quorum queue at once may answer one of them before the queue can serve anybody.
 * @returns lets others make them, once the queue of the members is there, which is made behind all others
 * @throws Error if the connection is over
 */
export async function takeSetUp(connection: BrokerConnection, names: Names): Promise<() => Promise<void>> {
  for (;;) {
    if (await isDone(connection, async (channel) => channel.checkQueue(names.members)))
      return async () => undefined;
    // Exclusive: it is refused to others, and gone with its connection.
    if (await isDone(connection, async (channel) => channel.assertQueue(names.setUp, { exclusive: true })))
      return async () => {
        await isDone(connection, async (channel) => channel.deleteQueue(names.setUp));
      };
    await pause(LOOK_MS);
  }
}

/** What is refused closes its channel, and nothing else. @throws Error if the connection is over */
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
