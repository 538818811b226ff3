import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { rm } from "node:fs/promises";
import path from "node:path";
import { isMissingFile, OperatorError } from "../../core/errors.ts";
import { readText, SHORT, UnreadableFileError } from "../../files/read-file.ts";
import { putPrivateFile, SIGNING_KEY, unusable } from "./data-folder.ts";

/** What a signature says of a row. */
export type Genuineness = "ours" | "changed" | "of another key";

export interface Signature {
  /** Tells keys apart, and nothing of the key. */
  readonly keyId: string;
  readonly signature: string;
}

/** Signs rows that reach a prompt, so that what somebody has written into the database is not taken for what people said. */
export interface Signer {
  /** @throws OperatorError if there is no key and none can be made */
  sign(row: readonly unknown[]): Promise<Signature>;
  /** Makes no key: without one every row is of another. */
  check(row: readonly unknown[], signature: Signature): Promise<Genuineness>;
  /** Which key it has; null: none. @throws OperatorError if the file is no key */
  keyId(): Promise<string | null>;
  /**
   * A key of its own for one purpose.
   * @param makes makes the key that it comes from, where there is none
   * @throws NoKeyError if there is none and it makes none
   * @throws OperatorError if none can be made
   */
  derive(purpose: string, makes: "makes" | "makes none"): Promise<DerivedKey>;
}

/** A key for one purpose; it does not reveal the signing key. */
export interface DerivedKey {
  /** Identifies the signing key from which this one is derived, without revealing it. */
  readonly keyId: string;
  readonly bytes: Buffer;
}

export interface KeySigner extends Signer {
  /** Makes the key where there is none. @throws OperatorError if none can be made */
  open(): Promise<void>;
}

/** For a program that keeps no key: it signs nothing, and believes nothing. */
export const NO_SIGNER: Signer = {
  sign: async () => Promise.reject(noKey()),
  check: async () => Promise.resolve("of another key"),
  keyId: async () => Promise.resolve(null),
  derive: async () => Promise.reject(noKey()),
};

/** There is no key. A key that exists but cannot be read is another error. */
export class NoKeyError extends OperatorError {}

function noKey(): NoKeyError {
  return new NoKeyError("There is no key to sign with.");
}

const KEY_BYTES = 32;
export const KEY_TEXT = /^[0-9a-f]{64}$/;
const KEY_ID_LENGTH = 12;

interface Key {
  readonly id: string;
  readonly bytes: Buffer;
}

/**
 * HMAC-SHA256 under the key in the data folder, which is made when it is first needed.
 * @param beforeMade refuses by an error that a key is made; default: one is
 */
export function fileSigner(
  dataDir: string,
  beforeMade: () => Promise<void> = async () => undefined,
): KeySigner {
  const file = signingKeyFile(dataDir);
  let known: Key | null = null;
  const own = async (): Promise<Key> => {
    known ??= readKey(file);
    if (known !== null) return known;
    await beforeMade();
    return (known = await makeKey(dataDir));
  };
  return {
    async open() {
      await own();
    },
    async keyId() {
      known ??= readKey(file);
      return known?.id ?? null;
    },
    async sign(row) {
      const key = await own();
      return { keyId: key.id, signature: hmac(key, row).toString("hex") };
    },
    async check(row, { keyId, signature }) {
      known ??= readKey(file);
      if (known === null || known.id !== keyId) return "of another key";
      const given = Buffer.from(signature, "hex");
      const right = hmac(known, row);
      return given.length === right.length && timingSafeEqual(given, right) ? "ours" : "changed";
    },
    async derive(purpose, makes) {
      const key = makes === "makes" ? await own() : (known ??= readKey(file));
      if (key === null) throw noKey();
      return { keyId: key.id, bytes: hmac(key, ["key", purpose]) };
    },
  };
}

export function signingKeyFile(dataDir: string): string {
  return path.join(dataDir, SIGNING_KEY);
}

function hmac({ bytes }: Key, row: readonly unknown[]): Buffer {
  return createHmac("sha256", bytes).update(JSON.stringify(row)).digest();
}

/** Null: there is none. @throws OperatorError if the file is no key, or cannot be read */
function readKey(file: string): Key | null {
  let text: string;
  try {
    text = readText(file, SHORT).trim();
  } catch (error) {
    if (isMissingFile(error)) return null;
    if (error instanceof UnreadableFileError)
      throw new OperatorError(
        `${file}, the key that rows are signed with, ${error.why}. It must be a file of the account that runs Weir.`,
        { cause: error },
      );
    throw error;
  }
  if (!KEY_TEXT.test(text))
    throw new OperatorError(
      `${file} is no key: it must hold 64 hexadecimal digits. Bring back the file of a backup, or remove it: a new one is made, and ` +
        "what was learned under the old one counts no more.",
    );
  const bytes = Buffer.from(text, "hex");
  return { id: createHash("sha256").update(bytes).digest("hex").slice(0, KEY_ID_LENGTH), bytes };
}

/** The key of a data folder, for a backup; null: there is none. @throws OperatorError if the file is no key */
export function readSigningKey(dataDir: string): string | null {
  return readKey(signingKeyFile(dataDir))?.bytes.toString("hex") ?? null;
}

/**
 * Looks whether a data folder can take the key of a backup.
 * @returns whether it has it already
 * @throws OperatorError if another one is there: rows of both cannot be believed
 */
export function hasSigningKey(dataDir: string, key: string): boolean {
  const there = readSigningKey(dataDir);
  if (there !== null && there !== key)
    throw new OperatorError(
      `${signingKeyFile(dataDir)} is another key than the backup's, and nothing was restored: move it away, and run this again.`,
    );
  return there !== null;
}

/**
 * Brings the key of a backup into a data folder.
 * @returns takes it away again, where it was not there before
 * @throws OperatorError if another one is there, or the folder cannot be written to
 */
export async function keepSigningKey(dataDir: string, key: string): Promise<() => Promise<void>> {
  if (hasSigningKey(dataDir, key)) return async () => undefined;
  await putKey(dataDir, key);
  return async () => rm(signingKeyFile(dataDir), { force: true });
}

async function putKey(dataDir: string, key: string): Promise<void> {
  try {
    await putPrivateFile(signingKeyFile(dataDir), `${key}\n`);
  } catch (cause) {
    throw unusable(dataDir, cause);
  }
}

/** Never half of one, also if another daemon makes it at the same time. */
async function makeKey(dataDir: string): Promise<Key> {
  const file = signingKeyFile(dataDir);
  await putKey(dataDir, randomBytes(KEY_BYTES).toString("hex"));
  const key = readKey(file);
  if (key === null) throw new OperatorError(`${file} was removed while it was made.`);
  return key;
}
