import { afterReset, type History } from "../../core/history.ts";
import type { ChannelId } from "../../core/ids.ts";
import type { Store } from "../../store/store.ts";
import type { Subagents, SubagentSite } from "../channel-context.ts";
import type { DueWorkDesk } from "../due-work.ts";
import { ChannelSubagents } from "./channel-subagents.ts";

/** The subagents of all channels of a daemon. They outlive the turns that have begun them, and the actors. */
export class SubagentDesk implements Subagents, AsyncDisposable {
  readonly #store: Pick<Store, "subagents">;
  readonly #channels = new Map<ChannelId, ChannelSubagents>();
  #dueWork: DueWorkDesk | null = null;
  #isClosed = false;

  constructor(store: Pick<Store, "subagents">) {
    this.#store = store;
  }

  /** Tells their agents by messages that are due. */
  tellBy(dueWork: DueWorkDesk): void {
    this.#dueWork = dueWork;
  }

  /** The subagents of a channel; they are made where it has none. @throws if the daemon is ending */
  of(parts: SubagentSite, history: History): ChannelSubagents {
    if (this.#isClosed || this.#dueWork === null) throw new Error("the subagents are closed");
    const { channel, epoch } = parts.owner;
    const host = { ...parts, searchFrom: afterReset(history) };
    const known = this.#channels.get(channel);
    if (known?.epoch === epoch) {
      known.host(host);
      return known;
    }
    void known?.close();
    const made: ChannelSubagents = new ChannelSubagents(host, this.#dueWork, () => {
      if (this.#channels.get(channel) === made) this.#channels.delete(channel);
    });
    this.#channels.set(channel, made);
    return made;
  }

  /** Goes on with what an earlier owner of a channel, or an earlier actor, has left open. Must not throw. */
  takeUp(parts: SubagentSite, history: History): void {
    if (!this.#isClosed) void this.of(parts, history).settle();
  }

  /** A turn of the channel has ended. What it began outlives it from now on. */
  settled(channel: ChannelId): void {
    void this.#channels.get(channel)?.settle();
  }

  /** Something was edited or taken back: those that it has voided are ended at once, in whatever channel. Returns at once. */
  changed(): void {
    // Each of them finds out by itself with its next step.
    this.#endVoided().catch(() => undefined);
  }

  async #endVoided(): Promise<void> {
    const running = [...this.#channels.values()].flatMap((one) => one.running);
    if (running.length === 0) return;
    const over = new Set(await this.#store.subagents.over(running));
    const voided = [...this.#channels.values()].filter((one) => one.running.some((id) => over.has(id)));
    await Promise.all(voided.map(async (one) => one.settle()));
  }

  /** Ends one of a channel at once, wherever it is at work. @returns whether there was one */
  async stop(channel: ChannelId, number: number): Promise<boolean> {
    const isStopped = await this.#store.subagents.stop(channel, number);
    await this.#channels.get(channel)?.settle();
    return isStopped;
  }

  /** Resolves when those that are at work now, or wait for their turn, have ended. */
  async atWork(): Promise<void> {
    await Promise.all(Array.from(this.#channels.values(), async (one) => one.atWork()));
  }

  /** `/reset`: nobody waits for those of a channel any more. */
  async drop(channel: ChannelId): Promise<void> {
    await this.#channels.get(channel)?.drop();
    await this.#channels.get(channel)?.settle();
  }

  /** Ends what is at work here in some channels; their next home goes on with it. */
  async leave(isLeft: (channel: ChannelId) => boolean): Promise<void> {
    const left = [...this.#channels].filter(([channel]) => isLeft(channel));
    for (const [channel] of left) this.#channels.delete(channel);
    await Promise.all(left.map(async ([, one]) => one.close()));
  }

  /** Ends what is at work here; the next daemon goes on with it. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    const channels = [...this.#channels.values()];
    this.#channels.clear();
    await Promise.all(channels.map(async (one) => one.close()));
  }
}
