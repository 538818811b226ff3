import type { Logger } from "pino";
import { describeOwnKey, type KeyProblem } from "../admin/reports/signing-keys.ts";
import type { Config } from "../config/config.ts";
import { errorMessage, OperatorError } from "../core/errors.ts";
import { type Member, MemberStore } from "../store/channels/members.ts";
import type { Database } from "../store/database/database.ts";
import { fileSigner, type Signer, signingKeyFile } from "../store/database/signing-key.ts";

/**
 * Opens a daemon's signing key. A daemon of a cluster has its key from the start, so that it can be copied, but creates none if other
 * members have one: daemons with different keys would reject each other's signatures. Differing keys are logged.
 */
export async function openSigner(
  { cluster, database: { dataDir } }: Pick<Config, "cluster" | "database">,
  database: Database,
  log: Logger,
): Promise<Signer> {
  if (cluster === null) return fileSigner(dataDir);
  const members = new MemberStore(database);
  const file = signingKeyFile(dataDir);
  // A row of an earlier run of this daemon may remain.
  const others = async (): Promise<Member[]> =>
    (await members.all()).filter(({ name }) => name !== cluster.name);
  const signer = fileSigner(dataDir, async () => {
    const problem = describeOwnKey(null, await others(), file);
    if (problem !== null) throw new OperatorError(inWords(problem));
  });
  try {
    await signer.open();
    const problem = describeOwnKey(await signer.keyId(), await others(), file);
    if (problem !== null) log.warn({ why: inWords(problem) }, "signing_key_differs");
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    log.warn({ why: errorMessage(error) }, "signing_key_missing");
  }
  return signer;
}

function inWords({ detail, todo }: KeyProblem): string {
  return `${detail}. What to do: ${todo}`;
}
