import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

/** Roles on the page. A viewer sees no texts of direct messages. */
export type PageRole = "operator" | "viewer";

/** A code that signs somebody in, once. */
export interface SignInCode {
  readonly role: PageRole;
  /** By the clock of the machine, ms. */
  readonly madeAt: number;
  /** Tells codes apart. */
  readonly nonce: string;
}

/** A name of this machine that no other service has: a cookie of 127.0.0.1 goes to every port there. */
export const PAGE_HOST = "weir.localhost";

/** The key of codes is derived from the data folder's: who may read that folder may sign in. */
export const CODE_PURPOSE = "sign in to the page";
/** How long a code is valid, ms. */
export const CODE_VALID_MS = 60_000;

const ROLES: readonly PageRole[] = ["operator", "viewer"];
const NONCE_BYTES = 9;
const TIME_BYTES = 6;
const HEAD_BYTES = 1 + TIME_BYTES + NONCE_BYTES;
const SIGNATURE_BYTES = 16;
const CODE = /^[\w-]{43}$/;

/** Makes a code. @param now ms */
export function makeCode(key: Buffer, role: PageRole, now: number): string {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt8(ROLES.indexOf(role), 0);
  head.writeUIntBE(now, 1, TIME_BYTES);
  randomBytes(NONCE_BYTES).copy(head, 1 + TIME_BYTES);
  return Buffer.concat([head, signatureOf(key, head)]).toString("base64url");
}

/** Null: it is none of this key, or its time is over. Pure. @param now ms */
export function readCode(key: Buffer, text: string, now: number): SignInCode | null {
  if (!CODE.test(text)) return null;
  const bytes = Buffer.from(text, "base64url");
  const head = bytes.subarray(0, HEAD_BYTES);
  const signature = bytes.subarray(HEAD_BYTES);
  if (signature.length !== SIGNATURE_BYTES || !timingSafeEqual(signature, signatureOf(key, head)))
    return null;
  const role = ROLES[head.readUInt8(0)];
  const madeAt = head.readUIntBE(1, TIME_BYTES);
  if (role === undefined || madeAt > now || now - madeAt >= CODE_VALID_MS) return null;
  return { role, madeAt, nonce: head.toString("base64url", 1 + TIME_BYTES) };
}

function signatureOf(key: Buffer, head: Buffer): Buffer {
  return createHmac("sha256", key).update(head).digest().subarray(0, SIGNATURE_BYTES);
}
