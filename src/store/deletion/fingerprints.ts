import { createHmac } from "node:crypto";
import { errorMessage, OperatorError } from "../../core/errors.ts";
import type { ChannelId } from "../../core/ids.ts";
import { NO_SIGNER, NoKeyError, type Signer } from "../database/signing-key.ts";

/** Fingerprints of an expired text: keyed hashes of its terms, by which a deletion still finds what repeats it. */

/** Of one term. */
const PRINT_BYTES = 8;
const HEX = PRINT_BYTES * 2;
const PURPOSE = "terms of texts that are no longer kept";

/** Makes fingerprints of terms: in each channel others. */
export class TermKey {
  readonly id: string;
  readonly #bytes: Buffer;
  readonly #channels = new Map<ChannelId, Buffer>();

  /** @param id tells keys apart, and nothing of the key */
  constructor(id: string, bytes: Buffer) {
    this.id = id;
    this.#bytes = bytes;
  }

  print(channel: ChannelId, term: string): string {
    const key =
      this.#channels.get(channel) ?? createHmac("sha256", this.#bytes).update(`${channel}`).digest();
    this.#channels.set(channel, key);
    return createHmac("sha256", key).update(term).digest("hex").slice(0, HEX);
  }
}

/** The key to fingerprints, as far as the installation has one. */
export class TermKeys {
  readonly #signer: Signer;
  #key: TermKey | null = null;

  constructor(signer: Signer) {
    this.#signer = signer;
  }

  /** For new fingerprints. @throws OperatorError if there is no key, and none can be made */
  async make(): Promise<TermKey> {
    return this.#read("makes");
  }

  /**
   * Null: there is none, so that the terms of fingerprints are unknown.
   * @throws OperatorError if it cannot be read: what is done without it cannot be undone
   */
  async find(): Promise<TermKey | null> {
    try {
      return await this.#read("makes none");
    } catch (error) {
      if (error instanceof NoKeyError) return null;
      if (error instanceof OperatorError) throw error;
      throw new OperatorError(`The signing key cannot be read: ${errorMessage(error)}.`, { cause: error });
    }
  }

  async #read(makes: "makes" | "makes none"): Promise<TermKey> {
    if (this.#key !== null) return this.#key;
    const { keyId, bytes } = await this.#signer.derive(PURPOSE, makes);
    this.#key = new TermKey(keyId, bytes);
    return this.#key;
  }
}

/** No key: the terms of fingerprints are unknown. */
export const NO_TERM_KEYS = new TermKeys(NO_SIGNER);

/** The fingerprints of terms, in an order that says nothing of theirs; in hexadecimal, one after the other. */
export function printsOf(key: TermKey, channel: ChannelId, terms: ReadonlySet<string>): string {
  return Array.from(terms, (term) => key.print(channel, term))
    .toSorted()
    .join("");
}

/** Fingerprints as rows have them. */
export function splitPrints(hex: string): string[] {
  return Array.from({ length: hex.length / HEX }, (_, place) => hex.slice(place * HEX, (place + 1) * HEX));
}
