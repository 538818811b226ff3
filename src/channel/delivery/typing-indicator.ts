import type { ChannelAddress } from "../../core/ids.ts";
import type { Platform } from "../../platforms/platform.ts";

/** Platforms hide the indicator after some seconds, ms. */
const REPEAT_MS = 8000;

/** Shows the platform's typing indicator until it is disposed of. */
export function showTyping(
  platform: Platform,
  address: ChannelAddress,
  inReplyTo: readonly string[],
): Disposable {
  const show = (isWorking: boolean): void => platform.showTyping?.(address, inReplyTo, isWorking);
  const timer = platform.showTyping === undefined ? undefined : setInterval(() => show(true), REPEAT_MS);
  timer?.unref();
  show(true);
  return {
    [Symbol.dispose]() {
      clearInterval(timer);
      show(false);
    },
  };
}
