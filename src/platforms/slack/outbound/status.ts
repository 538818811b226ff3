import { Cache } from "../../../async/cache.ts";
import type { ChannelAddress } from "../../../core/ids.ts";
import { placeOf } from "../address.ts";
import type { SlackApi } from "../web/api.ts";
import { nothing } from "../web/names.ts";

/** Interval at which a status is renewed, ms: it expires after two minutes. */
const STATUS_AGAIN_MS = 45_000;
const MINUTES_10 = 600_000;
const STATUS = "is thinking…";

/** The line under a thread that says that an answer is being written. */
export class ThreadStatus {
  readonly #api: SlackApi;
  readonly #statuses = new Cache<true>(1000);
  /** Threads believed to show a status. */
  readonly #working = new Set<string>();

  constructor(api: SlackApi) {
    this.#api = api;
  }

  /** Returns at once. */
  show(address: ChannelAddress, isWorking: boolean): void {
    if (placeOf(address).threadTs === null) return;
    if (isWorking) {
      void this.#statuses.get(address.name, async () => {
        const isShown = await this.#tell(address, STATUS);
        if (isShown) this.#working.add(address.name);
        // If the app lacks the permission, frequent retries are useless.
        return { value: true, forMs: isShown ? STATUS_AGAIN_MS : MINUTES_10 };
      });
    } else if (this.#working.delete(address.name)) {
      this.#statuses.delete(address.name);
      void this.#tell(address, "");
    }
  }

  /** Slack removes the line at the next post in a thread. */
  removed(address: ChannelAddress): void {
    if (this.#working.delete(address.name)) this.#statuses.delete(address.name);
  }

  /** A reader has stopped the answer: Slack shows it as working until the app says otherwise. Returns at once. */
  stopped(address: ChannelAddress): void {
    const { channel, threadTs } = placeOf(address);
    const args = { channel_id: channel, thread_ts: threadTs, status: "active" };
    // Not each app has sessions.
    this.#api.call("agents.sessions.setStatus", args, nothing).catch(() => undefined);
  }

  /** Does not throw. */
  async #tell(address: ChannelAddress, status: string): Promise<boolean> {
    const { channel, threadTs } = placeOf(address);
    try {
      const args = { channel_id: channel, thread_ts: threadTs, status };
      await this.#api.call("assistant.threads.setStatus", args, nothing);
      return true;
    } catch {
      return false;
    }
  }
}
