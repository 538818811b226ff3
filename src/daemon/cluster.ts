import { randomUUID } from "node:crypto";
import type { Logger } from "pino";
import { readVersion } from "../admin/version.ts";
import { OUTSIDER } from "../ownership/homes.ts";
import type { RabbitShards, ShardsVitals } from "../ownership/cluster/rabbit-shards.ts";
import type { DatabaseView } from "../ownership/cluster/database-watch.ts";
import type { Config } from "../config/config.ts";
import { isPresent, type MemberStore } from "../store/channels/members.ts";
import { fileSigner } from "../store/database/signing-key.ts";
import type { Cluster, ClusterVitals } from "./channels.ts";

/**
 * A daemon's part in the configured cluster. Loads the RabbitMQ client only if there is one.
 * @returns undefined: no cluster is configured
 */
export async function openCluster(
  { cluster: config, daemon, database }: Pick<Config, "cluster" | "daemon" | "database">,
  log: Logger,
): Promise<Cluster | undefined> {
  if (config === null) return undefined;
  const { RabbitHomes } = await import("../ownership/cluster/rabbit-homes.ts");
  const { RabbitShards } = await import("../ownership/cluster/rabbit-shards.ts");
  const { MemberRow } = await import("../ownership/cluster/member-row.ts");
  const { DatabaseWatch, UNWATCHED } = await import("../ownership/cluster/database-watch.ts");
  const { NameTakenError } = await import("../ownership/cluster/own-name.ts");
  let view: DatabaseView = UNWATCHED;
  const seen = (): DatabaseView => view;
  const shared = new SharedShards();
  const homes = new RabbitHomes({
    config,
    handOnMs: daemon.drainDeadlineMs,
    database: seen,
    // While another daemon holds its name, it takes no shards either.
    onName: (isOurs) => shared.rest({ isNameless: !isOurs }),
    log,
  });
  const signer = fileSigner(database.dataDir);
  const { name } = homes.vitals();
  const id = randomUUID();
  const vitals = (): ClusterVitals => ({ ...homes.vitals(), shards: shared.vitals() });
  return {
    homes,
    name,
    vitals,
    async claim(members) {
      try {
        await homes.claim();
      } catch (error) {
        throw error instanceof NameTakenError
          ? new NameTakenError(name, await whereIs(name, members))
          : error;
      }
    },
    watchDatabase(ask) {
      const watch = new DatabaseWatch(ask);
      view = watch;
      return watch;
    },
    shardsOf(platform) {
      return shared.add(new RabbitShards({ config, platform, database: seen, log }));
    },
    present({ members, gatewayShards }, held) {
      shared.bind({ shards: gatewayShards, member: id });
      return new MemberRow({
        members,
        id,
        name,
        version: readVersion(),
        held,
        vitals,
        // An error in the key file is reported where the key is used.
        keyId: async () => signer.keyId().catch(() => null),
        rest: (isDrained) => {
          homes.rest(isDrained);
          shared.rest({ isDrained });
        },
        log,
      });
    },
  };
}

/** The shards of all platforms. They rest while at least one reason holds. */
class SharedShards {
  readonly #all: RabbitShards[] = [];
  #isDrained = false;
  #isNameless = false;

  add(one: RabbitShards): RabbitShards {
    this.#all.push(one);
    this.rest({});
    return one;
  }

  bind(taker: Parameters<RabbitShards["bind"]>[0]): void {
    for (const one of this.#all) one.bind(taker);
  }

  vitals(): ShardsVitals[] {
    return this.#all.flatMap((one) => one.vitals() ?? []);
  }

  /** @param why the changed reasons */
  rest(why: { readonly isDrained?: boolean; readonly isNameless?: boolean }): void {
    this.#isDrained = why.isDrained ?? this.#isDrained;
    this.#isNameless = why.isNameless ?? this.#isNameless;
    for (const one of this.#all) one.rest(this.#isDrained || this.#isNameless);
  }
}

/** Describes the daemon that has recently reported this name; null: none has, or the rows cannot be read. */
async function whereIs(name: string, members: MemberStore): Promise<string | null> {
  const all = await members.all().catch(() => []);
  const found = all.find((member) => member.name === name && isPresent(member));
  return found === undefined ? null : `on ${found.host}, process ${found.pid}`;
}

/** For a process beside a cluster, such as a terminal chat: it serves only the channels that it alone can reach. */
export function besideCluster({ cluster }: Pick<Config, "cluster">): Cluster | undefined {
  return cluster === null ? undefined : { homes: OUTSIDER, name: "" };
}
