import { OperatorError } from "../core/errors.ts";
import { inviteLink } from "../platforms/discord/diagnose.ts";
import { manifestLink } from "../platforms/slack/manifest.ts";
import { type CommonOptions, type Io, say } from "./io.ts";
import { readConfig } from "./open.ts";

/**
 * `weir invite`: the links by which a bot comes into a server or a team.
 * @throws OperatorError if Discord does not know the token; PlatformError where it does not answer; nothing is said then
 */
export async function invite(io: Io, platform: string, options: CommonOptions): Promise<void> {
  const { platforms } = readConfig(io, options);
  if (platform === "slack") {
    say(
      io,
      "Open this link to make a Slack app with everything that Weir needs, and install it to your workspace:",
    );
    say(io, manifestLink(platforms.slack?.intake.mode ?? "socket"));
    return;
  }
  if (platforms.discord === null)
    throw new OperatorError("DISCORD_TOKEN is not set: make a bot first (docs/discord.md).");
  const link = await inviteLink(platforms.discord);
  say(io, "Open this link to invite the bot to a server of yours:");
  say(io, link);
}
