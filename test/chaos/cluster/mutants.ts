/** Read by a daemon before anything else, where the runner says so: builds in the mistake of WEIR_CHAOS_MUTANT, which the checks have to find. */
/* oxlint-disable typescript/unbound-method -- what a mistake replaces is called with its own `this` */
import { createRequire } from "node:module";
import path from "node:path";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { ChannelHomes } from "../../../src/ownership/channel-homes.ts";
import { HomeKeeper } from "../../../src/channel/home-keeper.ts";
import type { Partition } from "../../../src/ownership/homes.ts";
import { Answers } from "../../../src/ownership/cluster/database-watch.ts";
import { RabbitHomes } from "../../../src/ownership/cluster/rabbit-homes.ts";
import type { ChannelId } from "../../../src/core/ids.ts";
import { ChannelStore } from "../../../src/store/channels/channels.ts";
import { PartitionStore } from "../../../src/store/channels/partitions.ts";
import { LogStore } from "../../../src/store/log/log.ts";
import type { MutantName } from "./mutant-names.ts";

/** What a slow disk takes for a commit, ms. */
const COMMIT_MS = 40;

const MISTAKES: Readonly<Record<MutantName, () => void>> = {
  "lease acknowledged at once": acknowledgeLeases,
  "no partition guard"() {
    const { take } = ChannelStore.prototype;
    ChannelStore.prototype.take = async function takeAny(id: ChannelId): Promise<number> {
      return take.call(this, id, null);
    };
  },
  "no look, wakes dropped"() {
    PartitionStore.prototype.due = async () => [];
    RabbitHomes.prototype.wake = () => undefined;
  },
  "wake before commit": wakeFirst,
  "wake in memory without owning"() {
    const { epochOf } = ChannelHomes.prototype;
    ChannelHomes.prototype.isHome = async () => true;
    ChannelHomes.prototype.holds = () => true;
    ChannelHomes.prototype.epochOf = async function epochOfAny(id: ChannelId): Promise<number | null> {
      return epochOf.call(this, id).catch(() => null);
    };
  },
  "balance without drain"() {
    HomeKeeper.prototype.handingOn = async function letGo(partitions: readonly Partition[]): Promise<void> {
      this.lost(partitions);
    };
  },
  "home without a database"() {
    Answers.prototype.isAway = () => false;
  },
};

const chosen = Object.entries(MISTAKES).find(([name]) => name === process.env["WEIR_CHAOS_MUTANT"]);
if (chosen === undefined) throw new Error("there is no such mutant");
chosen[1]();

interface Delivered {
  readonly fields: { readonly consumerTag?: string };
}
type Receive = (message: Delivered | null) => void;
interface AmqpChannel {
  consume(queue: string, receive: Receive, options?: { readonly consumerTag?: string }): Promise<unknown>;
  ack(message: Delivered, ...rest: unknown[]): void;
  nack(message: Delivered, ...rest: unknown[]): void;
}

/** The package hides the class of its channels, so this looks for it beside its door. */
function acknowledgeLeases(): void {
  const load = createRequire(import.meta.url);
  const file = path.join(path.dirname(load.resolve("amqplib")), "lib", "channel_model.js");
  // oxlint-disable-next-line no-unsafe-type-assertion -- a file that has no types
  const { Channel } = load(file) as { readonly Channel: { readonly prototype: AmqpChannel } };
  const { consume, ack, nack } = Channel.prototype;
  const isLease = ({ fields }: Delivered): boolean => fields.consumerTag?.startsWith("lease-") === true;
  Channel.prototype.consume = async function consumeAtOnce(queue, receive, options) {
    const receiveAtOnce: Receive = (message) => {
      if (message !== null && isLease(message)) ack.call(this, message);
      receive(message);
    };
    return consume.call(this, queue, receiveAtOnce, options);
  };
  Channel.prototype.ack = function ackOthers(message, ...rest) {
    if (!isLease(message)) ack.call(this, message, ...rest);
  };
  Channel.prototype.nack = function nackOthers(message, ...rest) {
    if (!isLease(message)) nack.call(this, message, ...rest);
  };
}

function wakeFirst(): void {
  const all = new Set<ChannelHomes>();
  const { wake, isHome } = ChannelHomes.prototype;
  ChannelHomes.prototype.isHome = async function isHomeNoted(id: ChannelId): Promise<boolean> {
    all.add(this);
    return isHome.call(this, id);
  };
  ChannelHomes.prototype.wake = () => undefined;
  const beside = new pg.Pool({ connectionString: process.env["DATABASE_URL"] });
  beside.on("error", () => undefined);
  const { appendMessage } = LogStore.prototype;
  LogStore.prototype.appendMessage = async function appendBehindWake(channel, ...rest) {
    const next = "select (last_seq + 1)::integer as seq from channels where id = $1";
    const { rows } = await beside.query<{ seq: number }>(next, [channel]);
    for (const homes of all) wake.call(homes, channel, rows[0]?.seq ?? 1);
    await delay(COMMIT_MS);
    return appendMessage.call(this, channel, ...rest);
  };
}
