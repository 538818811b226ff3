import { randomUUID } from "node:crypto";
import type { Logger } from "pino";
import { readVersion } from "../admin/version.ts";
import { OUTSIDER } from "../channel/homes.ts";
import type { RabbitShards, ShardsVitals } from "../cluster/rabbit-shards.ts";
import type { Config } from "../config/config.ts";
import type { Cluster, ClusterVitals } from "./channels.ts";

/**
 * How a daemon belongs to the cluster of its configuration. What speaks to RabbitMQ is read only where there is one.
 * @returns undefined: it is alone
 */
export async function openCluster(
  { cluster: config, daemon }: Pick<Config, "cluster" | "daemon">,
  log: Logger,
): Promise<Cluster | undefined> {
  if (config === null) return undefined;
  const { openRabbitHomes } = await import("../cluster/rabbit-homes.ts");
  const { openRabbitShards } = await import("../cluster/rabbit-shards.ts");
  const { MemberRow } = await import("../cluster/member-row.ts");
  const homes = openRabbitHomes({ config, handOnMs: daemon.drainDeadlineMs, log });
  const { name } = homes.vitals();
  const id = randomUUID();
  const shared: RabbitShards[] = [];
  const shards = (): ShardsVitals[] => shared.flatMap((one) => one.vitals() ?? []);
  const vitals = (): ClusterVitals => ({ ...homes.vitals(), shards: shards() });
  return {
    homes,
    name,
    vitals,
    shardsOf(platform) {
      const one = openRabbitShards({ config, platform, log });
      shared.push(one);
      return one;
    },
    present({ members, gatewayShards }, held) {
      for (const one of shared) one.bind({ shards: gatewayShards, member: id });
      return new MemberRow({
        members,
        id,
        name,
        version: readVersion(),
        held,
        vitals,
        rest: (isDrained) => {
          for (const one of [homes, ...shared]) one.rest(isDrained);
        },
        log,
      });
    },
  };
}

/** A Weir beside the daemons of a cluster, such as that of a chat: it serves the channels that only it can reach, and no others. */
export function besideCluster({ cluster }: Pick<Config, "cluster">): Cluster | undefined {
  return cluster === null ? undefined : { homes: OUTSIDER, name: "" };
}
