import { weirCommand } from "../files/installation.ts";
import { OperatorError } from "../core/errors.ts";
import { nameInUrl } from "../platforms/local/local-only.ts";
import { isLoopback } from "../text/host-and-port.ts";
import { type CommonOptions, type Io, say } from "./shared/io.ts";
import { readConfigToLook } from "./shared/readable-config.ts";

/** Addresses that take connections to every name of the machine. */
const ANY_ADDRESS: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

/**
 * `weir open`: prints the address of the page with a code that signs in, once, within a minute. The code is never logged.
 * @throws OperatorError if the page is switched off, or nothing answers there
 */
export async function open(io: Io, options: CommonOptions): Promise<void> {
  const { http, database } = readConfigToLook(io, options);
  if (http === null)
    throw new OperatorError(
      'The page is switched off: write `listen = "127.0.0.1:8420"` under `[http]` in config.toml, and start Weir again.',
    );
  const { host, port } = http;
  const isHere = isLoopback(host) || ANY_ADDRESS.has(host);
  if (!isHere || port === 0)
    throw new OperatorError(
      `The page is for browsers of this machine, at a port that stays: \`listen\` is ${nameInUrl(host)}:${port}. ` +
        'Write `listen = "127.0.0.1:8420"` under `[http]` in config.toml.',
    );
  const [{ answersAsWeir }, { findToken }, { makeCode, pageHost }] = await Promise.all([
    import("../daemon/http/service.ts"),
    import("../daemon/http/token.ts"),
    import("../daemon/http/page/codes.ts"),
  ]);
  const token = findToken(http.token, database.dataDir);
  if (token === null || !(await answersAsWeir(ANY_ADDRESS.has(host) ? "127.0.0.1" : host, port)))
    throw new OperatorError(
      `No Weir of this data folder answers at ${nameInUrl(host)}:${port}: run \`${weirCommand("start")}\` first.`,
    );
  const code = makeCode(token, Date.now());
  say(io, `http://${pageHost(token)}:${port}/#${code}`);
  say(io, `The code is valid once, for a minute: ${code}`);
}
