import type { ConnectionOptions } from "node:tls";
import { errorMessage, OperatorError } from "../../core/errors.ts";
import { readText } from "../../files/read-file.ts";

/** What an address, or the environment in its place, says of encryption, by libpq's names. */
export interface TlsSettings {
  readonly sslmode: string;
  readonly sslrootcert?: string | undefined;
  readonly sslcert?: string | undefined;
  readonly sslkey?: string | undefined;
}

/** Certificates and keys, in bytes: a system's whole list of authorities has a quarter of that. */
const LONGEST_FILE = 1_048_576;

/** libpq's word for the authorities that are trusted anyway. */
const SYSTEM = "system";

/** By whose word the server's certificate is believed: nobody's, an authority's for whatever name, or an authority's for this name. */
type Check = "none" | "authority" | "authority and name";

const MODES = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full", "no-verify"];

/**
 * The encryption of a connection, in libpq's meaning of `sslmode`. Two of its modes would go on in the clear where the server takes
 * nothing else, `allow` and `prefer`: here they are `require`. `no-verify` is the word of `pg` for an encryption without a check.
 * @returns false: none
 * @throws OperatorError if there is no such mode, or it wants a file that is not named; Error if a file cannot be read
 */
export function tlsOf(settings: TlsSettings): false | ConnectionOptions {
  const { sslmode: mode, sslrootcert: root, sslcert, sslkey } = settings;
  if (!MODES.includes(mode))
    throw new OperatorError(`There is no sslmode "${mode}". Set one of ${MODES.join(", ")} in DATABASE_URL.`);
  if (mode === "disable") return false;
  if (mode === "verify-ca" && (root === undefined || root === SYSTEM))
    throw new OperatorError(
      "sslmode=verify-ca believes every name, so it wants an authority of your own: add sslrootcert=/path/ca.pem to DATABASE_URL, or set " +
        "sslmode=verify-full.",
    );
  const check = checkOf(mode, root);
  return {
    ...(root !== undefined && root !== SYSTEM && { ca: read("sslrootcert", root) }),
    ...(sslcert !== undefined && { cert: read("sslcert", sslcert) }),
    ...(sslkey !== undefined && { key: read("sslkey", sslkey) }),
    rejectUnauthorized: check !== "none",
    ...(check === "authority" && { checkServerIdentity: () => undefined }),
  };
}

function checkOf(mode: string, root: string | undefined): Check {
  if (mode === "no-verify") return "none";
  if (mode === "verify-full" || root === SYSTEM) return "authority and name";
  return root === undefined ? "none" : "authority";
}

function read(name: string, file: string): string {
  try {
    return readText(file, LONGEST_FILE);
  } catch (cause) {
    throw new Error(`${name} of DATABASE_URL cannot be read: ${errorMessage(cause)}`, { cause });
  }
}
