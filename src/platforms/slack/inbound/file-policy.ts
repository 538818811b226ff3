import { BoundedMap } from "../../../async/bounded-map.ts";
import { areRead } from "../../shared/attachments.ts";
import type { CatchUpLedger } from "../../platform.ts";
import { messageId } from "../address.ts";
import type { Names } from "../web/names.ts";
import type { AgentView } from "./agent-view.ts";
import type { SlackMessage } from "./payload.ts";
import { visibleFiles } from "./visible-parts.ts";
import { isAddressed, type MessageReader } from "./reader.ts";

interface FilePolicyParts {
  readonly names: Names;
  readonly reader: Pick<MessageReader, "where">;
  readonly agentView: AgentView;
  readonly ledger: Pick<CatchUpLedger, "policyOf">;
}

const MAX_THREADS = 5000;

/** Decides whose files are read: a message that is neither a question nor context has none downloaded. */
export class FilePolicy {
  readonly #parts: FilePolicyParts;
  /** Threads in which the bot was asked: the next message may be read before the log has the question. */
  readonly #asked = new BoundedMap<true>(MAX_THREADS);

  constructor(parts: FilePolicyParts) {
    this.#parts = parts;
  }

  /**
   * Call for each message, even without files.
   * @param before the message before an edit: an answered question stays a question
   * @returns true also if the policy is unavailable: at worst an unwanted file is read
   * @throws SlackError if the bot's identity or the message's place cannot be read
   */
  async readsFilesOf(
    channel: string,
    message: SlackMessage,
    before: SlackMessage = message,
  ): Promise<boolean> {
    const { names, reader, agentView, ledger } = this.#parts;
    const bot = await names.bot();
    const place = agentView.placeOf(channel, message);
    const thread = messageId(channel, place.threadTs ?? message.ts);
    const isAsked = [message, before].some((one) => isAddressed(channel, one, bot));
    if (isAsked && place.threadTs !== null) this.#asked.set(thread, true);
    if (visibleFiles(message).length === 0) return false;
    const home = await reader.where(place);
    const policy = await ledger.policyOf(home).catch(() => null);
    if (policy === null) return true;
    const isMet = policy.isKnown || this.#asked.get(thread) === true;
    return areRead(policy, isAsked || (place.threadTs !== null && isMet));
  }
}
