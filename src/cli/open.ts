import { weirCommand } from "../files/installation.ts";
import { OperatorError } from "../core/errors.ts";
import { nameInUrl } from "../platforms/local/local-only.ts";
import { fileSigner } from "../store/database/signing-key.ts";
import { isLoopback } from "../text/host-and-port.ts";
import { type CommonOptions, type Io, say } from "./shared/io.ts";
import { readConfigToLook } from "./shared/readable-config.ts";

export interface OpenOptions extends CommonOptions {
  /** The code signs a viewer in. */
  readonly viewer?: true;
}

/** Addresses that take connections to every name of the machine. */
const ANY_ADDRESS: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

/**
 * `weir open`: prints the address of the page with a code that signs in, once, within a minute. The code is never logged.
 * @throws OperatorError if the page is switched off, or nothing answers there
 */
export async function open(io: Io, options: OpenOptions): Promise<void> {
  const { http, database } = readConfigToLook(io, options);
  if (http === null)
    throw new OperatorError(
      'The page is switched off: write `listen = "127.0.0.1:8420"` under `[http]` in config.toml, and start Weir again.',
    );
  const { host, port } = http;
  if (port === 0)
    throw new OperatorError(
      "The page is at another port with each start: write one in `listen`, under `[http]` in config.toml.",
    );
  const [{ answersAsWeir }, { CODE_PURPOSE, makeCode, PAGE_HOST }] = await Promise.all([
    import("../daemon/http/service.ts"),
    import("../daemon/http/page/codes.ts"),
  ]);
  if (!(await answersAsWeir(ANY_ADDRESS.has(host) ? "127.0.0.1" : host, port)))
    throw new OperatorError(
      `No Weir answers at ${nameInUrl(host)}:${port}: run \`${weirCommand("start")}\` first.`,
    );
  const { bytes } = await fileSigner(database.dataDir).derive(CODE_PURPOSE, "makes");
  const code = makeCode(bytes, options.viewer === true ? "viewer" : "operator", Date.now());
  const name = isLoopback(host) || ANY_ADDRESS.has(host) ? PAGE_HOST : nameInUrl(host);
  say(io, `http://${name}:${port}/#${code}`);
  say(io, `The code is valid once, for a minute: ${code}`);
}
