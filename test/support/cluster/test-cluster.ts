import {
  type Homes,
  type HomesListener,
  type Partition,
  PARTITIONS,
  partitionOf,
} from "../../../src/ownership/homes.ts";
import type { ChannelId, Seq } from "../../../src/core/ids.ts";
import type { WeirEvent } from "../../../src/telemetry/events.ts";
import { text } from "../model-behaviours.ts";
import { type ModelServer, startModelServer } from "../model-server.ts";
import { TestPlatform } from "../test-platform.ts";
import { startWeir, type TestWeir, type TestWeirOptions } from "../weir.ts";

/** Two daemons and their common parts. */
export interface ClusterScene extends AsyncDisposable {
  readonly server: ModelServer;
  readonly cluster: TestCluster;
  /** Shows the messages of both daemons. */
  readonly platform: TestPlatform;
  readonly a: TestWeir;
  readonly b: TestWeir;
}

/** Starts two daemons, without a home for any partition yet. The model says "noted". */
export async function openCluster(
  options: Omit<TestWeirOptions, "modelUrl" | "cluster">,
): Promise<ClusterScene> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startModelServer());
  server.respond(() => text("noted"));
  const cluster = new TestCluster();
  const { platform = new TestPlatform() } = options;
  const start = async (name: string): Promise<TestWeir> =>
    stack.use(await startWeir({ ...options, modelUrl: server.url, platform, cluster: cluster.join(name) }));
  const [a, b] = [await start("a"), await start("b")];
  const kept = stack.move();
  return { server, cluster, platform, a, b, [Symbol.asyncDispose]: async () => kept.disposeAsync() };
}

/** Resolves when a room shows this many answers. */
export async function answers({ platform }: ClusterScene, room: string, count: number): Promise<void> {
  await platform.until(() => platform.texts(room).length >= count);
}

/** Number of turns that a daemon has begun in a room of the test platform; without a room, in all channels. */
export function turnsOf({ events }: { readonly events: readonly WeirEvent[] }, room?: string): number {
  const turns = events.filter((event) => event.type === "turn_started");
  return turns.filter(({ channel }) => room === undefined || channel === `test:${room}`).length;
}

export const ALL_PARTITIONS: readonly Partition[] = Array.from({ length: PARTITIONS }, (_, id) => id);

/** The partition of a room of the test platform. */
export function partitionOfRoom(room: string): Partition {
  return partitionOf({ platform: "test", name: room });
}

export interface SentWake {
  readonly from: string;
  readonly partition: Partition;
  readonly channel: ChannelId;
  readonly seq: Seq;
}

/** Daemons in one process, among which a test hands over partitions. Wakes are delivered between them, unless they are dropped. */
export class TestCluster {
  readonly #members = new Map<string, TestHomes>();
  readonly wakes: SentWake[] = [];
  dropsWakes = false;
  /** Called with each wake at the time of sending. */
  onWake: (wake: SentWake) => void = () => undefined;

  /** The options to start a daemon of this name. */
  join(name: string): { readonly homes: Homes; readonly name: string } {
    const homes = new TestHomes(this, name);
    this.#members.set(name, homes);
    return { homes, name };
  }

  /** Gives a daemon the leases of partitions, whether or not their earlier owner has noticed the loss. */
  async give(name: string, partitions: readonly Partition[] = ALL_PARTITIONS): Promise<void> {
    // A member without news for a while no longer counts on its partitions: see its lease.
    for (const [other, member] of this.#members) if (other !== name) member.giveUp(partitions);
    await this.member(name).gain(partitions);
  }

  /** A daemon hands its partitions over to another. */
  async move(
    from: string,
    to: string,
    partitions: readonly Partition[] = ALL_PARTITIONS,
    deadline: AbortSignal = new AbortController().signal,
  ): Promise<void> {
    await this.member(from).handOn(partitions, deadline);
    await this.member(to).gain(partitions);
  }

  /** A daemon learns that it has lost partitions. */
  lose(name: string, partitions: readonly Partition[] = ALL_PARTITIONS): void {
    this.member(name).lose(partitions);
  }

  member(name: string): TestHomes {
    const member = this.#members.get(name);
    if (member === undefined) throw new Error(`${name} is no member`);
    return member;
  }

  /** Sends a wake to the partition's last owner. */
  send(wake: SentWake): void {
    this.wakes.push(wake);
    this.onWake(wake);
    if (this.dropsWakes) return;
    const home = [...this.#members.values()].findLast((member) => member.owns(wake.partition));
    setImmediate(() => home?.listener?.woken(wake.channel, wake.seq));
  }
}

export class TestHomes implements Homes {
  readonly #cluster: TestCluster;
  readonly #name: string;
  readonly #owned = new Set<Partition>();
  listener: HomesListener | null = null;

  constructor(cluster: TestCluster, name: string) {
    this.#cluster = cluster;
    this.#name = name;
  }

  owns(partition: Partition): boolean {
    return this.#owned.has(partition);
  }

  wake(partition: Partition, channel: ChannelId, seq: Seq): void {
    this.#cluster.send({ from: this.#name, partition, channel, seq });
  }

  async start(listener: HomesListener): Promise<void> {
    this.listener = listener;
  }

  async leave(deadline: AbortSignal): Promise<void> {
    await this.handOn([...this.#owned], deadline);
  }

  giveUp(partitions: readonly Partition[]): void {
    for (const partition of partitions) this.#owned.delete(partition);
  }

  async gain(partitions: readonly Partition[]): Promise<void> {
    const taken = (await this.listener?.gained(partitions)) ?? [];
    for (const partition of taken) this.#owned.add(partition);
  }

  async handOn(partitions: readonly Partition[], deadline: AbortSignal): Promise<void> {
    this.giveUp(partitions);
    await this.listener?.handingOn(partitions, deadline);
  }

  lose(partitions: readonly Partition[]): void {
    this.giveUp(partitions);
    this.listener?.lost(partitions);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#owned.clear();
  }
}
