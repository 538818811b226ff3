import { assert } from "../core/errors.ts";
import { platformRow } from "../platforms/platforms.ts";
import { type CommonOptions, type Io, say } from "./io.ts";
import { readConfig } from "./open.ts";

/**
 * `weir invite`: the links by which a bot comes into a server or a team.
 * @throws OperatorError if the platform does not know the token; PlatformError where it does not answer; nothing is said then
 */
export async function invite(io: Io, platform: string, options: CommonOptions): Promise<void> {
  const row = platformRow(platform);
  assert(row !== undefined, "the command line takes the keys of the platforms alone");
  const { what, link } = await row.invite(readConfig(io, options).platforms[row.key]);
  say(io, what);
  say(io, link);
}
