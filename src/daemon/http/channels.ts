import { HTTPException } from "hono/http-exception";
import PQueue from "p-queue";
import { listChannel, type ListedChannel } from "../../admin/reports/channel-list.ts";
import {
  type ChannelReport,
  type ChannelReportParts,
  readRequest,
  reportChannel,
} from "../../admin/reports/channel-report.ts";
import { readCompactions } from "../../admin/reports/compaction-list.ts";
import { nextRequest } from "../../admin/reports/context-report.ts";
import { contextSections } from "../../context/sections/list.ts";
import { usableTokens } from "../../context/usage.ts";
import type { Section } from "../../core/context.ts";
import { formatAddress, parseAddress } from "../../core/ids.ts";
import type { Daemon } from "../daemon.ts";
import type { ChannelRow } from "../../store/channels/channels.ts";
import type { ChannelOverview } from "../../store/channels/overview.ts";
import { budgetOf } from "../../turn/agent.ts";

export type ReportedDaemon = Pick<
  Daemon,
  | "store"
  | "models"
  | "registry"
  | "staffOf"
  | "digesterOf"
  | "features"
  | "current"
  | "vitals"
  | "budgets"
  | "configurationProblems"
  | "waker"
  | "homes"
  | "reload"
  | "checkConfiguration"
  | "events"
  | "readSchema"
  | "search"
  | "status"
>;

/** A channel as in `weir channels --json`, with further columns for scripts. */
type ChannelOnPage = ListedChannel &
  Pick<ChannelRow, "kind" | "workspace" | "place" | "isPrivate" | "settledTo" | "coveredTo" | "omittedTo"> & {
    readonly loaded: boolean;
  };

type NameOf = (channel: ChannelRow) => string;

/** Most reports that wait for the running one. */
const MAX_WAITING = 16;

/** Channel reports as on the command line. One at a time: a report occupies the process that answers people. */
export class ChannelReports {
  readonly #queue = new PQueue({ concurrency: 1 });
  #daemon: ReportedDaemon | null = null;

  watch(daemon: ReportedDaemon): void {
    this.#daemon = daemon;
  }

  /** @throws HTTPException if there is none yet */
  get daemon(): ReportedDaemon {
    if (this.#daemon === null) throw new HTTPException(503, { message: "the daemon is still starting" });
    return this.#daemon;
  }

  /** The newest first. @param before the `next` of the page before @param nameOf default: their addresses */
  async list(
    limit: number,
    before: number | undefined,
    signal?: AbortSignal,
    nameOf: NameOf = ({ address }) => formatAddress(address),
  ): Promise<{ readonly channels: readonly ChannelOnPage[]; readonly next: number | null }> {
    return this.read(async (daemon) => {
      const page = await daemon.store.overview.channels({ limit, before });
      const next = page.length < limit ? null : (page.at(-1)?.channel.id ?? null);
      return { channels: page.map((one) => onPage(one, daemon, nameOf)), next };
    }, signal);
  }

  /** The request of a channel's next model call: `weir context --json`. */
  async context(name: string): Promise<ChannelReport> {
    return this.read(async (daemon) => reportOf(daemon, await findChannel(daemon, name)));
  }

  /** A channel's compactions, the newest last: `weir compactions --json`. */
  async compactions(name: string, limit: number) {
    return this.read(async (daemon) => {
      const { id } = await findChannel(daemon, name);
      const { jobs } = await readCompactions(daemon, id, limit);
      return { compactions: jobs };
    });
  }

  /**
   * Reads a report when its turn comes.
   * @param signal ends a request that waits
   * @throws HTTPException if there is no daemon yet, or too many reports wait
   */
  async read<Result>(
    work: (daemon: ReportedDaemon) => Promise<Result>,
    signal?: AbortSignal,
  ): Promise<Result> {
    const { daemon } = this;
    if (this.#queue.size >= MAX_WAITING)
      throw new HTTPException(503, { message: "too many reports are asked for at a time" });
    return this.#queue.add(async () => {
      signal?.throwIfAborted();
      return work(daemon);
    });
  }
}

/** A channel in numbers and texts, as `weir context --json`. */
export async function reportOf(daemon: ReportedDaemon, channel: ChannelRow): Promise<ChannelReport> {
  return reportChannel(reportParts(daemon, channel), channel);
}

/** The sections of a channel's next request, with their texts. */
export async function nextSections(daemon: ReportedDaemon, channel: ChannelRow): Promise<readonly Section[]> {
  const parts = reportParts(daemon, channel);
  const { snapshot, situation } = await readRequest(parts, channel.id);
  return contextSections(nextRequest(parts.agent, snapshot, situation).context);
}

function reportParts(daemon: ReportedDaemon, channel: ChannelRow): ChannelReportParts {
  const { store, staffOf, digesterOf, features } = daemon;
  const { agent, guests } = staffOf(channel);
  return {
    store,
    agent,
    guests,
    digester: digesterOf(channel),
    readWaitedFor: features.readWaitedFor,
    activeTexts: features.activeTexts,
    channelFiles: features.channelFiles,
    now: new Date(),
    isFresh: false,
  };
}

/** @param name an address, as people write it @throws HTTPException if there is none */
export async function findChannel(
  { store }: { readonly store: Pick<ReportedDaemon["store"], "channels"> },
  name: string,
): Promise<ChannelRow> {
  // Postgres accepts no text with a NUL character.
  const channel = name.includes("\0") ? undefined : await store.channels.find(parseAddress(name));
  if (channel === undefined) throw noSuchChannel();
  return channel;
}

export function noSuchChannel(): HTTPException {
  return new HTTPException(404, { message: "there is no such channel: /channels lists them" });
}

function onPage(
  overview: ChannelOverview,
  { registry, staffOf }: ReportedDaemon,
  nameOf: NameOf,
): ChannelOnPage {
  const { id, kind, workspace, place, isPrivate, settledTo, coveredTo, omittedTo } = overview.channel;
  const listed = listChannel(overview, (channel, model) =>
    usableTokens(budgetOf(staffOf(channel).agent, model)),
  );
  const row = { kind, workspace, place, isPrivate, settledTo, coveredTo, omittedTo };
  const channel = nameOf(overview.channel);
  return { ...listed, channel, ...row, loaded: registry.loaded(id) !== undefined };
}
