import type { Logger } from "pino";
import { retryWrite } from "../async/retry.ts";
import type { Config } from "../config/config.ts";
import { errorMessage } from "../core/errors.ts";
import type { ChannelRegistry } from "./registry.ts";

/** A database that is restarted meanwhile is waited for, for 25 s. */
const RETRIES = 8;

export interface TakeUpParts {
  readonly config: Pick<Config, "agents">;
  readonly registry: Pick<ChannelRegistry, "resume">;
  readonly log: Logger;
}

/** Entries without a summary of which a channel has something to do. */
export function mostRawMessages({ agents }: Pick<Config, "agents">): number {
  return Math.min(...agents.map((one) => one.compaction.maxRawMessages));
}

/** Takes up what the log says is due on these platforms, in the channels that are served now. */
export async function takeUpWork(
  { config, registry, log }: TakeUpParts,
  platforms: readonly { readonly name: string }[],
): Promise<void> {
  const names = platforms.map(({ name }) => name);
  const { result: resumed } = await retryWrite(
    async () => registry.resume(names, mostRawMessages(config)),
    RETRIES,
  );
  if (resumed > 0) log.info({ channels: resumed }, "work_resumed");
}

/**
 * The same where channels of a platform are served that were not, with the reminders and approvals that wait there. Must not throw.
 * @param waiting each looks for what is due when it is started
 */
export async function takeUpPlatform(
  parts: TakeUpParts,
  platform: string,
  waiting: readonly { start(): void }[],
): Promise<void> {
  try {
    await takeUpWork(parts, [{ name: platform }]);
  } catch (error) {
    parts.log.warn({ platform, why: errorMessage(error) }, "work_not_resumed");
  }
  for (const one of waiting) one.start();
}
