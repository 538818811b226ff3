import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";

/** A certificate with its key, both as PEM. */
export interface Identity {
  readonly cert: string;
  readonly key: string;
}

export interface CertificateOptions {
  /** Its host. Default: `localhost`. */
  readonly host?: string;
  /** Its last day. Default: tomorrow. */
  readonly until?: Date;
}

/** Issues certificates. Clients with its own certificate trust them. */
export interface Authority {
  readonly cert: string;
  issue(options?: CertificateOptions): Identity;
}

const DAY_MS = 86_400_000;
/** ecdsa-with-SHA256, 1.2.840.10045.4.3.2 */
const SIGNED_BY = der(0x30, der(0x06, Buffer.from("2a8648ce3d040302", "hex")));
/** commonName, 2.5.4.3; basicConstraints, 2.5.29.19; subjectAltName, 2.5.29.17 */
const COMMON_NAME = der(0x06, Buffer.from("550403", "hex"));
const CONSTRAINTS = der(0x06, Buffer.from("551d13", "hex"));
const OTHER_NAMES = der(0x06, Buffer.from("551d11", "hex"));
const TRUE = der(0x01, Buffer.from([0xff]));

export function makeAuthority(name = "Test authority"): Authority {
  const keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const isAuthority = extension(CONSTRAINTS, der(0x30, TRUE), TRUE);
  const sealed = (subject: string, key: KeyObject, until: Date, more: Buffer): string =>
    certificate({ issuer: name, signer: keys.privateKey, subject, key, until, more });
  return {
    cert: sealed(name, keys.publicKey, new Date(Date.now() + DAY_MS), isAuthority),
    issue({ host = "localhost", until = new Date(Date.now() + DAY_MS) } = {}) {
      const own = generateKeyPairSync("ec", { namedCurve: "P-256" });
      const names = extension(OTHER_NAMES, der(0x30, der(0x82, Buffer.from(host))));
      const key = own.privateKey.export({ type: "pkcs8", format: "pem" }).toString();
      return { cert: sealed(host, own.publicKey, until, names), key };
    },
  };
}

interface Content {
  readonly issuer: string;
  readonly signer: KeyObject;
  readonly subject: string;
  readonly key: KeyObject;
  readonly until: Date;
  readonly more: Buffer;
}

/** X.509 version 3 (RFC 5280, 4.1), as PEM. */
function certificate({ issuer, signer, subject, key, until, more }: Content): string {
  const content = der(
    0x30,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    SIGNED_BY,
    nameOf(issuer),
    der(0x30, time(new Date(until.getTime() - 30 * DAY_MS)), time(until)),
    nameOf(subject),
    key.export({ type: "spki", format: "der" }),
    der(0xa3, der(0x30, more)),
  );
  const signature = Buffer.concat([Buffer.from([0]), sign("sha256", content, signer)]);
  const whole = der(0x30, content, SIGNED_BY, der(0x03, signature)).toString("base64");
  return `-----BEGIN CERTIFICATE-----\n${whole.replaceAll(/.{64}/g, "$&\n")}\n-----END CERTIFICATE-----\n`;
}

function extension(id: Buffer, value: Buffer, ...critical: readonly Buffer[]): Buffer {
  return der(0x30, id, ...critical, der(0x04, value));
}

function nameOf(commonName: string): Buffer {
  return der(0x30, der(0x31, der(0x30, COMMON_NAME, der(0x0c, Buffer.from(commonName)))));
}

/** UTCTime: `261127200000Z` */
function time(at: Date): Buffer {
  const digits = at.toISOString().replaceAll(/\D/g, "").slice(2, 14);
  return der(0x17, Buffer.from(`${digits}Z`));
}

/** One value of ASN.1: tag, length, content. */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size =
    length < 0x80
      ? [length]
      : length < 0x100
        ? [0x81, length]
        : [0x82, Math.floor(length / 0x100), length % 0x100];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}
