import { randomBytes } from "node:crypto";
import { connect } from "amqplib";
import { PARTITIONS } from "../../../src/ownership/homes.ts";
import { Names } from "../../../src/ownership/cluster/names.ts";
import { findPrivateBroker, startPrivateBroker } from "./private-broker.ts";

/** Names a developer's broker, in place of the one on the usual port. */
const URL_VARIABLE = "AMQP_URL";
const USUAL = "amqp://guest:guest@127.0.0.1:5672";

export interface TestBroker extends AsyncDisposable {
  readonly url: string;
}

/** As {@link findBroker}, but prefers a broker of Debian's package, which can be killed, over the one on the usual port. */
export async function findBrokerToKill(): Promise<TestBroker | null> {
  const isGiven = process.env[URL_VARIABLE] !== undefined;
  return !isGiven && (await findPrivateBroker()) ? startPrivateBroker() : findBroker();
}

/**
 * The broker at AMQP_URL, else the one on the usual port, else one of Debian's package that is started for this file.
 * @returns null: this machine has none
 */
export async function findBroker(): Promise<TestBroker | null> {
  const given = process.env[URL_VARIABLE];
  for (const url of given === undefined ? [USUAL] : [given])
    if (await answers(url)) return { url, [Symbol.asyncDispose]: async () => undefined };
  if (given !== undefined) throw new Error(`No RabbitMQ answers at ${URL_VARIABLE}`);
  return (await findPrivateBroker()) ? startPrivateBroker() : null;
}

/** The reason for skipped work if {@link findBroker} has found none. */
export const NO_BROKER = `no RabbitMQ: neither at ${URL_VARIABLE}, nor at ${USUAL}, nor as a package`;

/** Why tests are skipped, for `node:test`; false: they run. */
export function skippedWithout(broker: TestBroker | null): string | false {
  return broker === null ? NO_BROKER : false;
}

async function answers(url: string): Promise<boolean> {
  try {
    const connection = await connect(url, { timeout: 5000 });
    await connection.close();
    return true;
  } catch {
    return false;
  }
}

/** A unique prefix; disposing deletes everything that a cluster made under it. */
export interface TestNamespace extends AsyncDisposable {
  readonly prefix: string;
  readonly names: Names;
}

export function makeNamespace(url: string): TestNamespace {
  const prefix = `test-${randomBytes(6).toString("hex")}`;
  const names = new Names(prefix);
  return {
    prefix,
    names,
    async [Symbol.asyncDispose]() {
      const connection = await connect(url, { timeout: 5000 });
      const channel = await connection.createChannel();
      for (const set of [names, new Names(`${prefix}.discord`)]) {
        for (let lease = 0; lease < PARTITIONS; lease++) await channel.deleteQueue(set.lease(lease));
        await channel.deleteQueue(set.members);
        await channel.deleteQueue(set.setUp);
        await channel.deleteExchange(set.presence);
      }
      for (let partition = 0; partition < PARTITIONS; partition++)
        await channel.deleteQueue(names.wakes(partition));
      await connection.close();
    },
  };
}
