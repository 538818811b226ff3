import { OperatorError } from "../core/errors.ts";
import { CHAT_PLATFORMS, platformRow } from "../platforms/platforms.ts";
import { displayableLine } from "../text/displayable.ts";
import { type CommonOptions, type Io, say } from "./shared/io.ts";
import { readConfigToLook } from "./shared/readable-config.ts";
import { weirCommand } from "../files/installation.ts";

/**
 * `weir invite`: the links by which a bot joins a server or a team.
 * @throws OperatorError if there is no such platform, or it does not know the token; PlatformError if it does not answer.
 * Nothing is printed then
 */
export async function invite(io: Io, platform: string, options: CommonOptions): Promise<void> {
  const row = platformRow(platform);
  if (row === undefined)
    throw new OperatorError(
      `\`${weirCommand("invite")}\` takes one of ${CHAT_PLATFORMS.join(", ")}, and not ${displayableLine(platform)}.`,
    );
  const { what, link } = await row.invite(readConfigToLook(io, options).platforms[row.key]);
  say(io, what);
  say(io, link);
}
