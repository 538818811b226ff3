import { Routes } from "discord.js";
import { z } from "zod";
import type { ChannelAddress } from "../../../core/ids.ts";
import { type DiscordApi, parsed, PLATFORM_NAME } from "./api.ts";

const opened = z.object({ id: z.string() });

/** The channel of the direct messages with a person; Discord makes it where there is none. @throws PlatformError */
export async function directChannel(api: DiscordApi, person: string): Promise<ChannelAddress> {
  const answer = await api.call({
    method: "POST",
    route: Routes.userChannels(),
    body: { recipient_id: person },
  });
  return { platform: PLATFORM_NAME, name: parsed(opened, answer).id };
}
