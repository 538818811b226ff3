import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { get } from "node:http";
import path from "node:path";
import { text } from "node:stream/consumers";
import { isMissingFile } from "../../../core/errors.ts";
import { readText, SHORT } from "../../../files/read-file.ts";
import { replaceFile } from "../../../files/write-file.ts";
import { isSameSecret } from "../../../network/same-secret.ts";
import { hostHeader } from "../../../platforms/local/local-only.ts";
import { makePrivateFolder, PAGE_ADDRESS } from "../../../store/database/data-folder.ts";
import { hostAndPort } from "../../../text/host-and-port.ts";
import { pageHost, proofOf } from "./codes.ts";

export const PROOF_PATH = "/page/proof";

/** Longest wait for a proof, ms. */
const PROOF_MS = 5000;
const MAX_ADDRESS = 100;

/**
 * Writes where the page of this data folder is.
 * @param onFailure called if it cannot be written: the page is there all the same
 * @returns removes it, unless another daemon has written its own since
 */
export function keepAddress(
  dataDir: string,
  address: string,
  onFailure: (error: unknown) => void,
): () => Promise<void> {
  const file = path.join(dataDir, PAGE_ADDRESS);
  const written = makePrivateFolder(dataDir)
    .then(() => replaceFile(file, `${address}\n`))
    .catch(onFailure);
  return async () => {
    await written;
    if (readAddress(dataDir) === address) await rm(file, { force: true });
  };
}

/** `127.0.0.1:8420`; null: no daemon of this data folder has written it. */
export function readAddress(dataDir: string): string | null {
  try {
    const address = readText(path.join(dataDir, PAGE_ADDRESS), SHORT).trim();
    return address.length <= MAX_ADDRESS && /^[\w.[\]:]+:\d+$/.test(address) ? address : null;
  } catch (error) {
    if (isMissingFile(error)) return null;
    throw error;
  }
}

/** Whether the daemon that has this token answers there: any program may listen where an ended one did. */
export async function isPageAt(address: string, token: string): Promise<boolean> {
  const { host, port } = hostAndPort(address);
  const nonce = randomBytes(16).toString("base64url");
  const asked = {
    host,
    port,
    path: `${PROOF_PATH}?of=${nonce}`,
    headers: { host: hostHeader(pageHost(token), port) },
    signal: AbortSignal.timeout(PROOF_MS),
  };
  try {
    const answer = await new Promise<string>((resolve, reject) => {
      get(asked, (response) => void text(response).then(resolve, reject)).on("error", reject);
    });
    return isSameSecret(answer, proofOf(token, port, nonce));
  } catch {
    return false;
  }
}
