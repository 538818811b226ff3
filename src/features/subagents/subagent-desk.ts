import { afterReset, type History } from "../../core/history.ts";
import type { ChannelId } from "../../core/ids.ts";
import type { BackgroundWork, WorkSite } from "../../channel/channel-context.ts";
import type { DueWorkDesk } from "../../channel/due-work.ts";
import { ChannelSubagents } from "./channel-subagents.ts";
import type { OpenSubagent, SubagentStore } from "./subagent-store.ts";

/** The subagents of all channels of a daemon. They outlive their turns and the actors. */
export class SubagentDesk implements BackgroundWork, AsyncDisposable {
  readonly rows: SubagentStore;
  readonly #channels = new Map<ChannelId, ChannelSubagents>();
  #dueWork: DueWorkDesk | null = null;
  #isClosed = false;

  constructor(rows: SubagentStore) {
    this.rows = rows;
  }

  /** Sets where reports to agents are appended. */
  tellBy(dueWork: DueWorkDesk): void {
    this.#dueWork = dueWork;
  }

  /** The subagents of a channel, created on demand. @throws if the daemon is ending */
  of(parts: WorkSite, history: History): ChannelSubagents {
    if (this.#isClosed || this.#dueWork === null) throw new Error("the subagents are closed");
    const { channel, epoch } = parts.owner;
    const host = { ...parts, searchFrom: afterReset(history) };
    const known = this.#channels.get(channel);
    if (known?.epoch === epoch) {
      known.host(host);
      return known;
    }
    void known?.close();
    const made: ChannelSubagents = new ChannelSubagents(host, this.rows, this.#dueWork, () => {
      if (this.#channels.get(channel) === made) this.#channels.delete(channel);
    });
    this.#channels.set(channel, made);
    return made;
  }

  takeUp(parts: WorkSite, history: History): void {
    if (!this.#isClosed) void this.of(parts, history).settle();
  }

  turnEnded(channel: ChannelId): void {
    void this.#channels.get(channel)?.settle();
  }

  /** Ends the subagents, in all channels, that an edit or a deletion has made void. */
  changed(): void {
    // If it fails, each void subagent ends at its next step.
    this.#endVoided().catch(() => undefined);
  }

  async #endVoided(): Promise<void> {
    const running = [...this.#channels.values()].flatMap((one) => one.running);
    if (running.length === 0) return;
    const over = new Set(await this.rows.over(running));
    const voided = [...this.#channels.values()].filter((one) => one.running.some((id) => over.has(id)));
    await Promise.all(voided.map(async (one) => one.settle()));
  }

  async open(channel: ChannelId): Promise<readonly OpenSubagent[]> {
    return (await this.rows.look(channel)).open;
  }

  /** Stops a subagent of a channel at once, on any daemon. @returns whether there was one */
  async stop(channel: ChannelId, number: number): Promise<boolean> {
    const isStopped = await this.rows.stop(channel, number);
    await this.#channels.get(channel)?.settle();
    return isStopped;
  }

  async idle(): Promise<void> {
    await Promise.all(Array.from(this.#channels.values(), async (one) => one.atWork()));
  }

  async drop(channel: ChannelId): Promise<void> {
    await this.#channels.get(channel)?.drop();
    await this.#channels.get(channel)?.settle();
  }

  async leave(isLeft: (channel: ChannelId) => boolean): Promise<void> {
    const left = [...this.#channels].filter(([channel]) => isLeft(channel));
    for (const [channel] of left) this.#channels.delete(channel);
    await Promise.all(left.map(async ([, one]) => one.close()));
  }

  /** Aborts all subagents here; the next daemon resumes them. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    const channels = [...this.#channels.values()];
    this.#channels.clear();
    await Promise.all(channels.map(async (one) => one.close()));
  }
}
