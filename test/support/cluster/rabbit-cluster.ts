import { pino } from "pino";
import { RabbitHomes, type RabbitHomesOptions } from "../../../src/ownership/cluster/rabbit-homes.ts";
import { type TestNamespace } from "./broker.ts";
import { Ledger, type LedgerListener, type ListenerHooks } from "./ledger.ts";

/** Daemons of one RabbitMQ cluster, without channels, all in the test's process. */
export interface RabbitCluster extends AsyncDisposable {
  readonly ledger: Ledger;
  /** Starts one, and resolves when it is a member. */
  join(name: string, options?: JoinOptions): Promise<RabbitMember>;
  /** The same without waiting. */
  add(name: string, options?: JoinOptions): RabbitMember;
}

export interface JoinOptions extends Partial<Omit<RabbitHomesOptions, "config">> {
  readonly hooks?: ListenerHooks;
  /** Another address of the broker. */
  readonly url?: string;
}

export interface RabbitMember {
  readonly homes: RabbitHomes;
  readonly listener: LedgerListener;
  readonly started: Promise<void>;
}

/** @param url the broker's */
export function makeCluster(url: string, { prefix }: Pick<TestNamespace, "prefix">): RabbitCluster {
  const members: RabbitMember[] = [];
  const ledger = new Ledger();
  const log = pino({ level: process.env["WEIR_TEST_LOG"] ?? "silent" });
  const add = (name: string, { hooks, url: own = url, ...options }: JoinOptions = {}): RabbitMember => {
    const config = { url: own, name, prefix };
    const homes = new RabbitHomes({ config, handOnMs: 60_000, log: log.child({ name }), ...options });
    const listener = ledger.listener(name, hooks);
    const member = { homes, listener, started: homes.start(listener) };
    members.push(member);
    return member;
  };
  return {
    ledger,
    add,
    async join(name, options) {
      const member = add(name, options);
      await member.started;
      return member;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(members.map(async ({ homes }) => homes[Symbol.asyncDispose]()));
    },
  };
}
