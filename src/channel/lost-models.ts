import type { Logger } from "pino";
import { errorMessage } from "../core/errors.ts";
import { type ChannelAddress, formatAddress } from "../core/ids.ts";
import type { Platform } from "../platforms/platform.ts";
import type { ChannelModelStore, LostModel } from "../store/channels/channel-models.ts";
import { noticeMessage } from "./delivery/notice.ts";

export interface LostModelsParts {
  readonly channels: Pick<ChannelModelStore, "lost" | "lossTold">;
  /** Names of the models that may be chosen now. */
  readonly choosable: () => Iterable<string>;
  readonly platformOf: (address: ChannelAddress) => Platform | undefined;
  readonly log: Logger;
}

/**
 * Notifies each channel once that its chosen model is no longer configured. A failed notice is repeated after the next start or
 * reload, or when the platform is served again.
 */
export class LostModels implements AsyncDisposable {
  readonly #parts: LostModelsParts;
  #looking: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(parts: LostModelsParts) {
    this.#parts = parts;
  }

  /** Queues a check of all channels. Returns at once. */
  start(): void {
    this.#looking = this.#looking.then(async () => this.#look());
  }

  /** Must not throw. */
  async #look(): Promise<void> {
    const { channels, choosable, platformOf, log } = this.#parts;
    try {
      for (const lost of this.#isClosed ? [] : await channels.lost([...choosable()])) {
        const platform = platformOf(lost.channel.address);
        if (platform !== undefined) await this.#tell(lost, platform);
      }
    } catch (error) {
      log.warn({ why: errorMessage(error) }, "lost_models_not_looked_for");
    }
  }

  async #tell({ channel: { id, address, model }, before }: LostModel, platform: Platform): Promise<void> {
    if (model === null || this.#isClosed) return;
    const { channels, log } = this.#parts;
    const channel = formatAddress(address);
    log.warn({ channel, model: model.name }, "chosen_model_not_configured: its agent's answers");
    const command = `${platform.capabilities.commandPrefix ?? "/"}model`;
    const text =
      `The model ${model.name}, which was chosen here, is not set up any more. From now on I answer with my own; ` +
      `${command} says which others there are.`;
    try {
      const idempotencyKey = `lost-model-${id}-${before}`;
      await platform.send(noticeMessage(address, { idempotencyKey, text }));
    } catch (error) {
      log.warn({ channel, why: errorMessage(error) }, "lost_model_not_told");
      return;
    }
    await channels.lossTold(id, model.name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await this.#looking;
  }
}
