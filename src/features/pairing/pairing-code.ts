import { randomInt } from "node:crypto";
import { isSameSecret } from "../../network/same-secret.ts";

/** Letters and digits that are taken for no other: no 0 and O, no 1, I and L, no 2 and Z, no 5 and S, no 8 and B. */
const ALPHABET = "ACDEFGHJKMNPQRTUVWXY34679";
const LENGTH = 8;

/** A new code that lets a person in: one of 150 thousand million. */
export function newPairingCode(): string {
  return Array.from({ length: LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join("");
}

/** Whether a person has typed this code, in any case, with spaces or hyphens. */
export function isPairingCode(typed: string, code: string): boolean {
  return isSameSecret(typed.toUpperCase().replaceAll(/[\s-]/g, ""), code);
}
