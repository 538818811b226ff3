import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { get, type IncomingMessage } from "node:http";
import path from "node:path";
import { isMissingFile } from "../../../core/errors.ts";
import { readText, SHORT } from "../../../files/read-file.ts";
import { replaceFile } from "../../../files/write-file.ts";
import { isSameSecret } from "../../../network/same-secret.ts";
import { makePrivateFolder, PAGE_ADDRESS } from "../../../store/database/data-folder.ts";
import { hostAndPort } from "../../../text/host-and-port.ts";
import { makeCode, proofOf } from "./codes.ts";
import type { Role } from "./roles.ts";

export interface PageAddress {
  /** `127.0.0.1:8420` */
  readonly where: string;
  /** The name under which browsers ask for it. */
  readonly name: string;
}

/** An address that signs in, once, within a minute. @param key the page's @param now ms */
export function signInAddress(
  { where, name }: PageAddress,
  key: string,
  now: number,
  role: Role = "operator",
): string {
  return `http://${name}:${hostAndPort(where).port}/#${makeCode(key, now, role)}`;
}

const NAME_BYTES = 10;

/**
 * A name for one daemon's page. Browsers take `*.localhost` for this machine, and a cookie of a name goes to every port: other
 * programs must not be able to guess it, nor learn it from a tab that was left open when a daemon ended.
 */
export function newPageName(): string {
  return `weir-${randomBytes(NAME_BYTES).toString("hex")}.localhost`;
}

/** How often the file is looked for: another daemon of this folder takes it away when it ends, ms. */
const LOOK_EVERY_MS = 5000;

/**
 * Keeps the page's address in the data folder.
 * @param onFailure called if that is not possible: the page is there all the same
 * @returns ends that, and removes the file unless another daemon has written its own since
 */
export function keepAddress(
  dataDir: string,
  address: PageAddress,
  onFailure: (error: unknown) => void,
  lookEveryMs = LOOK_EVERY_MS,
): () => Promise<void> {
  const file = path.join(dataDir, PAGE_ADDRESS);
  const write = (): void => replaceFile(file, `${address.where} ${address.name}\n`);
  const orTell = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      onFailure(error);
    }
  };
  const looking = setInterval(() => orTell(() => readAddress(dataDir) ?? write()), lookEveryMs).unref();
  const written = makePrivateFolder(dataDir).then(write).catch(onFailure);
  return async () => {
    clearInterval(looking);
    await written;
    orTell(() => {
      if (readAddress(dataDir)?.name === address.name) rmSync(file, { force: true });
    });
  };
}

/** Null: no daemon of this data folder has written one. */
export function readAddress(dataDir: string): PageAddress | null {
  try {
    const [, where, name] =
      /^(\S{1,100}:\d{1,5}) (weir-[\da-f]{20}\.localhost)$/.exec(
        readText(path.join(dataDir, PAGE_ADDRESS), SHORT).trim(),
      ) ?? [];
    return where === undefined || name === undefined ? null : { where, name };
  } catch (error) {
    if (isMissingFile(error)) return null;
    throw error;
  }
}

export const PROOF_PATH = "/page/proof";
/** Longest wait for a proof, ms, and more than its length, UTF-16 units. */
const PROOF_MS = 5000;
const MOST_PROOF = 200;

/** Whether the daemon that has this key answers there: any program may listen where an ended one did. It learns nothing. */
export async function isPageAt({ where }: Pick<PageAddress, "where">, key: string): Promise<boolean> {
  const { host, port } = hostAndPort(where);
  const nonce = randomBytes(16).toString("base64url");
  const signal = AbortSignal.timeout(PROOF_MS);
  try {
    const answer = await new Promise<string>((resolve, reject) => {
      const asked = { host, port, path: `${PROOF_PATH}?of=${nonce}`, signal };
      get(asked, (response) => void beginningOf(response).then(resolve, reject)).on("error", reject);
    });
    return isSameSecret(answer, proofOf(key, port, nonce));
  } catch {
    return false;
  }
}

async function beginningOf(response: IncomingMessage): Promise<string> {
  let text = "";
  for await (const part of response.setEncoding("utf8")) {
    text += String(part);
    if (text.length > MOST_PROOF) break;
  }
  return text;
}
