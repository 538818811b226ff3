import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { Role } from "./roles.ts";

/** A code that signs somebody in, once. */
export interface SignInCode {
  /** By the clock of the machine, ms. */
  readonly madeAt: number;
  /** Tells codes apart. */
  readonly nonce: string;
  /** What it signs in as: the signature is of one role alone. */
  readonly role: Role;
}

/** How long a code is valid, ms. */
export const CODE_VALID_MS = 60_000;

const TIME_BYTES = 6;
const NONCE_BYTES = 10;
const HEAD_BYTES = TIME_BYTES + NONCE_BYTES;
const SIGNATURE_BYTES = 16;
const CODE = /^[\w-]{43}$/;

/** Makes a code: who may read the page's key may sign in. @param now ms */
export function makeCode(key: string, now: number, role: Role = "operator"): string {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUIntBE(now, 0, TIME_BYTES);
  randomBytes(NONCE_BYTES).copy(head, TIME_BYTES);
  return Buffer.concat([head, signatureOf(key, head, role)]).toString("base64url");
}

/** Null: it is none of this key, or its time is over. Pure. @param now ms */
export function readCode(key: string, text: string, now: number): SignInCode | null {
  if (!CODE.test(text)) return null;
  const bytes = Buffer.from(text, "base64url");
  const head = bytes.subarray(0, HEAD_BYTES);
  const role = (["operator", "viewer"] as const).find((one) =>
    timingSafeEqual(bytes.subarray(HEAD_BYTES), signatureOf(key, head, one)),
  );
  if (role === undefined) return null;
  const madeAt = head.readUIntBE(0, TIME_BYTES);
  if (madeAt > now || now - madeAt >= CODE_VALID_MS) return null;
  return { madeAt, nonce: head.toString("base64url", TIME_BYTES), role };
}

/**
 * What only the daemon at this port can say: before a code is sent there, it shows that it has the key. Another program could pass
 * the question on, but to another port.
 * @param nonce of whoever asks
 */
export function proofOf(key: string, port: number, nonce: string): string {
  return hmac(key, `the page at port ${port}, to ${nonce}`).toString("base64url");
}

const SIGNED: Readonly<Record<Role, string>> = {
  operator: "a code to sign in",
  viewer: "a code to sign in as a viewer",
};

function signatureOf(key: string, head: Buffer, role: Role): Buffer {
  return hmac(key, `${SIGNED[role]}: ${head.toString("hex")}`).subarray(0, SIGNATURE_BYTES);
}

function hmac(key: string, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}
