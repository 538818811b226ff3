import { HTTPException } from "hono/http-exception";
import PQueue from "p-queue";
import { type ChannelReport, reportChannel } from "../admin/channel-report.ts";
import { type PricedCompaction, readCompactions } from "../admin/compaction-list.ts";
import { formatAddress, parseAddress } from "../core/ids.ts";
import type { Daemon } from "../daemon.ts";
import type { ChannelRow } from "../store/channels/channels.ts";
import type { ListedChannel } from "./openapi.ts";

export type ReportedDaemon = Pick<Daemon, "store" | "models" | "registry" | "staffOf" | "digesterOf">;

/** Reports that may wait for the one that is being made. */
const MAX_WAITING = 16;

/** Channels as the command line shows them. One report is made at a time: it takes the process that answers people. */
export class ChannelReports {
  readonly #queue = new PQueue({ concurrency: 1 });
  #daemon: ReportedDaemon | null = null;

  watch(daemon: ReportedDaemon): void {
    this.#daemon = daemon;
  }

  /** The newest first. @param before the `next` of the page before */
  async list(
    limit: number,
    before: number | undefined,
  ): Promise<{ readonly channels: readonly ListedChannel[]; readonly next: number | null }> {
    return this.#one(async ({ store, registry }) => {
      const rows = await store.channels.newest(limit, before);
      const next = rows.length < limit ? null : (rows.at(-1)?.id ?? null);
      return { channels: rows.map((row) => listed(row, registry.loaded(row.id) !== undefined)), next };
    });
  }

  /** What the next model call of a channel would be sent: `weir context --json`. */
  async context(name: string): Promise<ChannelReport> {
    return this.#one(async (daemon) => {
      const { store, staffOf, digesterOf } = daemon;
      const channel = await findChannel(daemon, name);
      const { agent, guests } = staffOf(channel);
      const staff = { store, agent, guests, digester: digesterOf(channel) };
      return reportChannel({ ...staff, now: new Date(), isFresh: false }, channel);
    });
  }

  /** What was summarised of a channel, the newest last: `weir compactions --json`. */
  async compactions(
    name: string,
    limit: number,
  ): Promise<{ readonly compactions: readonly PricedCompaction[] }> {
    return this.#one(async (daemon) => {
      const { id } = await findChannel(daemon, name);
      const { jobs } = await readCompactions(daemon, id, limit);
      return { compactions: jobs };
    });
  }

  /** @throws HTTPException if there is no daemon yet, or too many reports are asked for */
  async #one<Result>(work: (daemon: ReportedDaemon) => Promise<Result>): Promise<Result> {
    const daemon = this.#daemon;
    if (daemon === null) throw new HTTPException(503, { message: "the daemon is still starting" });
    if (this.#queue.size >= MAX_WAITING)
      throw new HTTPException(503, { message: "too many reports are asked for at a time" });
    return this.#queue.add(async () => work(daemon));
  }
}

/** @throws HTTPException if there is none */
async function findChannel({ store }: ReportedDaemon, name: string): Promise<ChannelRow> {
  // The database takes no text with a zero in it.
  const channel = name.includes("\0") ? undefined : await store.channels.find(parseAddress(name));
  if (channel === undefined)
    throw new HTTPException(404, { message: "there is no such channel: /channels lists them" });
  return channel;
}

function listed(row: ChannelRow, loaded: boolean): ListedChannel {
  const { address, kind, workspace, place, isPrivate, agent, lastSeq, settledTo, coveredTo, omittedTo } = row;
  const id = formatAddress(address);
  return { id, kind, workspace, place, isPrivate, agent, lastSeq, settledTo, coveredTo, omittedTo, loaded };
}
