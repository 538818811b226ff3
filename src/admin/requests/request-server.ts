import { hostname } from "node:os";
import type { Logger } from "pino";
import { PollLoop } from "../../async/poll-loop.ts";
import type { ChannelHomes } from "../../ownership/channel-homes.ts";
import type { ChannelRegistry } from "../../channel/registry.ts";
import { errorMessage } from "../../core/errors.ts";
import type { ChannelAddress, ChannelId } from "../../core/ids.ts";
import type { CompactionStore } from "../../store/compaction/compactions.ts";
import { redactPerson, type RedactionParts } from "../../router/redact-messages.ts";
import type { ChannelStore } from "../../store/channels/channels.ts";
import type { DaemonStatus } from "../reports/daemon-status.ts";
import type { ReloadAnswer } from "./reload-answer.ts";
import type { ForgetAnswer } from "./forget-answer.ts";
import type {
  ChannelRequest,
  RequestStore,
  WaitingRequest,
  RequestedWork,
} from "../../store/commands/requests.ts";
import {
  type CompactAnswer,
  forceCompaction,
  redoCompaction,
  type RedoStores,
  storableAnswer,
} from "./compact-answer.ts";

export interface RequestServerParts extends Omit<RedactionParts, "store"> {
  readonly store: RedoStores &
    RedactionParts["store"] & {
      readonly requests: RequestStore;
      readonly compactions: CompactionStore;
      readonly channels: Pick<ChannelStore, "find">;
    };
  readonly homes: Pick<ChannelHomes, "isHome" | "isHere">;
  readonly registry: Pick<ChannelRegistry, "visit" | "inMemory" | "get">;
  /** Deletes texts from files that were deleted in the log. Must not throw. */
  readonly sweepFiles: () => Promise<void>;
  /** This daemon's place in a cluster; default: it is alone. */
  readonly cluster?: { readonly name: string } | undefined;
  /** This daemon's report of itself. */
  readonly status: () => DaemonStatus;
  /** Reads the configuration again. Must not throw. `isForced`: even if the file may be half changed. */
  readonly reload: (isForced: boolean) => Promise<ReloadAnswer>;
  /** Whether this daemon can deliver to the channel. */
  readonly serves: (channel: ChannelAddress) => boolean;
  readonly log: Logger;
  /** How often old requests are removed, ms. Default: an hour. */
  readonly cleanEveryMs?: number;
}

/** How often it looks even without a notification, ms. */
const POLL_MS = 2000;
const CLEAN_EVERY_MS = 3_600_000;
/** Head start of another daemon, ms: for a channel of its platform, or a request to its machine's. */
const OTHERS_FIRST_MS = 500;

/**
 * Takes requests from other commands (`weir compact`, `weir compact --redo`, `weir forget-user`, `weir status`, `weir reload`), and of other daemons (`/stop`, `/reset` and `/compact` where they are not the channel's home), and answers in the same row. It
 * hears of a request by NOTIFY and polls as well, so a lost connection costs seconds and no request.
 */
export class RequestServer implements AsyncDisposable {
  readonly #parts: RequestServerParts;
  readonly #work = new Set<Promise<void>>();
  readonly #looks = new PollLoop(async () => this.#look());
  #listening: Promise<AsyncDisposable | null> | null = null;
  #cleanedAt = -Infinity;
  /** The last reported error. */
  #warned: string | null = null;
  #isClosed = false;

  constructor(parts: RequestServerParts) {
    this.#parts = parts;
  }

  /** Begins to take requests. Must not throw. */
  open(): void {
    this.#looks.now();
  }

  /** Accepts no new request. Resolves once accepted requests are answered: close the registry first. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await this.#looks[Symbol.asyncDispose]();
    await (await this.#listening)?.[Symbol.asyncDispose]();
    await Promise.all(this.#work);
  }

  /** Must not throw. */
  async #look(): Promise<number> {
    return this.#takeAll().catch((error: unknown) => {
      this.#warn(error);
      return POLL_MS;
    });
  }

  /** @returns when to look again, ms */
  async #takeAll(): Promise<number> {
    const { store } = this.#parts;
    await this.#listen();
    let nextMs = POLL_MS;
    for (const request of await store.requests.waiting()) {
      const waitMs = await this.#waitMs(request);
      if (waitMs > 0) nextMs = Math.min(nextMs, waitMs);
      else if (await store.requests.take(request.id)) this.#begin(request);
    }
    await this.#clean();
    this.#warned = null;
    return nextMs;
  }

  /** How long a request is left to other daemons, ms; Infinity: only its channel's home may take it. */
  async #waitMs(request: WaitingRequest): Promise<number> {
    const { homes, serves, cluster } = this.#parts;
    if (request.channel === null) {
      const { name, host } = request.of;
      if (name !== null) return name === cluster?.name ? 0 : Infinity;
      return host === null || host === hostname() ? 0 : OTHERS_FIRST_MS - request.ageMs;
    }
    if (!(await homes.isHome(request.channel))) return Infinity;
    const mayBeOthers = homes.isHere(request.address.platform) && !serves(request.address);
    return mayBeOthers ? OTHERS_FIRST_MS - request.ageMs : 0;
  }

  /** Cleans at intervals: a daemon may run for months. */
  async #clean(): Promise<void> {
    const { store, cleanEveryMs = CLEAN_EVERY_MS } = this.#parts;
    if (performance.now() - this.#cleanedAt < cleanEveryMs) return;
    await store.requests.clean();
    this.#cleanedAt = performance.now();
  }

  async #listen(): Promise<void> {
    this.#listening ??= this.#parts.store.requests
      .listen(
        () => this.#looks.now(),
        () => {
          this.#listening = null;
        },
      )
      .catch((error: unknown) => {
        this.#warn(error);
        return null;
      });
    // Not listening: the next look tries again.
    if ((await this.#listening) === null) this.#listening = null;
  }

  #begin(request: WaitingRequest): void {
    const work = this.#answer(request).catch((error: unknown) => this.#warn(error));
    this.#work.add(work);
    void work.finally(() => this.#work.delete(work));
  }

  async #answer(request: WaitingRequest): Promise<void> {
    let answer: object = { kind: "failed" };
    try {
      answer = await this.#answerTo(request);
    } catch (error) {
      this.#warn(error);
    }
    await this.#parts.store.requests.answer(request.id, answer);
  }

  async #answerTo(request: WaitingRequest): Promise<object> {
    if (request.channel === null) {
      const { cluster, reload, status } = this.#parts;
      if (request.work.kind === "status") return status();
      const answer = await reload(request.work.kind === "forced reload");
      return { ...answer, ...(cluster !== undefined && { daemon: cluster.name }) };
    }
    const { work, channel } = request;
    const { registry } = this.#parts;
    switch (work.kind) {
      case "forget":
        return this.#forget(request, work.person);
      case "stop":
        return { kind: "stopped", isStopped: (await registry.inMemory(channel))?.stop() ?? false };
      case "reset":
        await (await registry.get(channel)).reset();
        return { kind: "reset" };
      case "redo":
      case "compact":
        return storableAnswer(await this.#compact(channel, work));
    }
  }

  async #compact(
    channel: ChannelId,
    work: Extract<RequestedWork, { kind: "compact" | "redo" }>,
  ): Promise<CompactAnswer> {
    const { store, registry } = this.#parts;
    return registry.visit(channel, async ({ compactor }) =>
      work.kind === "redo"
        ? redoCompaction(compactor, store, channel, work.job)
        : forceCompaction(compactor, store.compactions, work.focus),
    );
  }

  async #forget({ address }: ChannelRequest, person: string): Promise<ForgetAnswer> {
    const row = await this.#parts.store.channels.find(address);
    if (row === undefined) throw new Error("a channel with a request has no row");
    const taken = await redactPerson(this.#parts, row, person, () => !this.#isClosed);
    await this.#parts.sweepFiles();
    return { kind: "forgotten", ...taken };
  }

  #warn(error: unknown): void {
    const why = errorMessage(error);
    // Report a database that stays away once, not at each look.
    if (why === this.#warned) return;
    this.#warned = why;
    this.#parts.log.warn({ why }, "request_failed");
  }
}
