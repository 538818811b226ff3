import { isDm, type SlackPlace } from "../address.ts";
import type { SlackConfig } from "../row.ts";
import type { SlackMessage } from "./payload.ts";

/**
 * Whether the app is an agent of Slack's (`agent_view` in its manifest): then each message that begins a thread in its direct
 * messages is a conversation of its own. Slack does not name an app's kind, but only agents are sent what a person looks at.
 */
export class AgentView {
  #isOn: boolean;
  readonly #isFixed: boolean;

  /** @param mode `auto`: Slack's messages and events show it */
  constructor(mode: SlackConfig["agentView"]) {
    this.#isOn = mode === "on";
    this.#isFixed = mode !== "auto";
  }

  get isOn(): boolean {
    return this.#isOn;
  }

  /** An event that only agents get. */
  shown(): void {
    if (!this.#isFixed) this.#isOn = true;
  }

  /** Where a message belongs. A reply belongs to its thread, even if the channel shows it, too. */
  placeOf(channel: string, message: SlackMessage): SlackPlace {
    const { ts, thread_ts: threadTs, app_context: context } = message;
    if (typeof threadTs === "string" && threadTs !== ts) return { channel, threadTs };
    if (!isDm(channel)) return { channel, threadTs: null };
    if (context != null) this.shown();
    return { channel, threadTs: this.#isOn ? ts : null };
  }
}
