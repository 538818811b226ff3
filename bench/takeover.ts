import { findBroker, makeNamespace, NO_BROKER } from "../test/support/cluster/broker.ts";
import { measureTakeovers } from "../test/support/cluster/takeover.ts";
import { type Bench, type Figure, quantile, type Row } from "./support/figure.ts";

const MEMBERS = 3;

/**
 * From the kill -9 of one of three daemons until another has each of its partitions: the time of RabbitMQ and the
 * members' side, without a database and channels. All run on this machine, the broker too.
 */
export const takeover: Figure = {
  name: "takeover",
  about: "a daemon of a cluster is killed: until others have its partitions",
  async run(bench: Bench): Promise<Row[]> {
    await using broker = await findBroker();
    if (broker === null) {
      bench.progress(`left out: ${NO_BROKER}`);
      return [];
    }
    const { url } = broker;
    await using space = makeNamespace(url);
    const kills = bench.isQuick ? 2 : 20;
    const takeovers = await measureTakeovers({ url, prefix: space.prefix }, { members: MEMBERS, kills });
    const all = takeovers.flatMap(({ tookMs }) => tookMs);
    const row = (what: string, value: number, bar?: Row["bar"]): Row => ({
      what: `${what} of ${all.length} partitions in ${kills} kills`,
      value,
      unit: "ms",
      ...(bar !== undefined && { bar }),
    });
    return [
      row("p50", quantile(all, 0.5)),
      row("p99", quantile(all, 0.99), { atMost: 1000 }),
      row("slowest", Math.max(...all)),
    ];
  },
};
