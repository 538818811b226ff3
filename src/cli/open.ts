import { weirCommand } from "../files/installation.ts";
import { OperatorError } from "../core/errors.ts";
import { type CommonOptions, type Io, say } from "./shared/io.ts";
import { readConfigToLook } from "./shared/readable-config.ts";

interface OpenOptions extends CommonOptions {
  /** Signs in a viewer; default: the operator. */
  readonly viewer?: boolean;
}

/**
 * `weir open`: prints the address of the page with a code that signs in, once, within a minute. The code is never logged.
 * @throws OperatorError if the page is switched off, or no daemon of this data folder serves it
 */
export async function open(io: Io, options: OpenOptions): Promise<void> {
  const { http, database } = readConfigToLook(io, options);
  if (http === null)
    throw new OperatorError(
      'The page is switched off: write `listen = "auto"` under `[http]` in config.toml, and start Weir again.',
    );
  const [{ isPageAt, readAddress, signInAddress }, { findPageKey }] = await Promise.all([
    import("../daemon/http/page/address.ts"),
    import("../daemon/http/token.ts"),
  ]);
  const key = findPageKey(database.dataDir);
  const address = readAddress(database.dataDir);
  if (key === null || address === null || !(await isPageAt(address, key)))
    throw new OperatorError(
      `No Weir of this data folder serves the page: run \`${weirCommand("start")}\` first. If it runs, its log says why there is no page; ` +
        "it is for browsers of this machine, so `listen` under `[http]` must be an address of this machine alone, or 0.0.0.0.",
    );
  const role = options.viewer === true ? "viewer" : "operator";
  const signIn = signInAddress(address, key, Date.now(), role);
  const code = new URL(signIn).hash.slice(1);
  say(io, signIn);
  say(io, `The code is valid once, for a minute${role === "viewer" ? ", for a viewer" : ""}: ${code}`);
}
