import type { Channel, Options, Replies } from "amqplib";
import { type BrokerConnection, isRefusedWith } from "./broker-connection.ts";

/** PRECONDITION_FAILED: there is a queue of this name, with other arguments. */
const DIFFERS = 406;

export type DeclareQueue = (queue: string, options: Options.AssertQueue) => Promise<Replies.AssertQueue>;

/**
 * Creates a queue if there is none. A queue that another version made with other arguments is used as it is: during a rolling upgrade
 * both versions need the same queues.
 * @throws Error if the broker refuses for another reason, or the connection is over
 */
export async function declareQueue(
  connection: BrokerConnection,
  queue: string,
  options: Options.AssertQueue,
): Promise<Replies.AssertQueue> {
  const made = await assertQueue(connection, queue, options);
  return made ?? onOwnChannel(connection, async (channel) => channel.checkQueue(queue));
}

/** Whether there is a queue of this name with other arguments. @throws Error as {@link declareQueue} */
export async function differs(
  connection: BrokerConnection,
  queue: string,
  options: Options.AssertQueue,
): Promise<boolean> {
  return (await assertQueue(connection, queue, options)) === null;
}

/** @returns null: there is a queue of this name with other arguments */
async function assertQueue(
  connection: BrokerConnection,
  queue: string,
  options: Options.AssertQueue,
): Promise<Replies.AssertQueue | null> {
  try {
    return await onOwnChannel(connection, async (channel) => channel.assertQueue(queue, options));
  } catch (error) {
    if (isRefusedWith(error, DIFFERS)) return null;
    throw error;
  }
}

/** Without a limit, unlike `onChannel`: creating a quorum queue may take long, and joining has a deadline of its own. */
async function onOwnChannel<Result>(
  connection: BrokerConnection,
  work: (channel: Channel) => Promise<Result>,
): Promise<Result> {
  const channel = await connection.openChannel();
  const result = await work(channel);
  // Not awaited: the next call need not wait for it. A failure has ended the connection.
  channel.close().catch(() => undefined);
  return result;
}
