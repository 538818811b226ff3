import type { ChannelAddress } from "../../core/ids.ts";
import type { OutboundMessage } from "../../core/message.ts";
import { QuietPlatform } from "../../platforms/absent-platform.ts";
import { PLATFORM_NAME } from "../../platforms/terminal/intake.ts";

/** Where the recording is said: all in one channel. */
export const DEMO_CHANNEL: ChannelAddress = { platform: PLATFORM_NAME, name: "hut" };

/** Hands the agent's answers to the stage. */
export class DemoPlatform extends QuietPlatform {
  constructor(onSent: (message: OutboundMessage) => void) {
    const serves: QuietPlatform["capabilities"]["serves"] = ({ platform, name }) =>
      platform === DEMO_CHANNEL.platform && name === DEMO_CHANNEL.name;
    super(PLATFORM_NAME, { isHere: true, serves }, onSent);
  }
}
