import { hasKey, redact } from "./redact.ts";
import { isPublicKeyName, isSecretPath, secretOptions } from "./schema-walk.ts";
import { parseToml } from "./toml-document.ts";
import { isTable, type KeyPath } from "./value-tree.ts";

const REFERENCE = /(?:^|\s)env:\w+$/;
/** Names of secrets, also of keys that are not known, and in comments. */
const SECRET_NAME = /key|token|secret|passw|credential/i;
const COMMENTED = /^\s*#[#\s]*([\w.-]+)\s*=\s*["']([^"']+)["']/;
/** Headers whose values sign somebody in. */
const SECRET_HEADER = /^(?:authorization|proxy-authorization|cookie|x-.*(?:auth|key|token|secret).*)$/i;
const SIGNS_IN = /^(?:bearer|basic|token)\s+\S/i;

/**
 * The first line of a configuration that holds, or may hold, a secret itself and not a reference to a variable; null: none does.
 * A text that is no TOML is judged by its lines alone. Pure.
 * @param mask masks the secrets that are known
 */
export function literalSecretLine(text: string, mask: (text: string) => string): number | null {
  const lines = text.split("\n");
  const place = lines.findIndex((line) => mask(line) !== line || hasKey(line) || isCommentedSecret(line));
  if (place >= 0) return place + 1;
  const parsed = parseToml(text, "", () => false);
  if ("value" in parsed)
    for (const { path, value } of textsIn(parsed.value.value))
      if (isSecretAt(path, value)) return parsed.value.locate(path)?.line ?? 1;
  // One that goes over several lines.
  return mask(text) === text ? null : 1;
}

function isCommentedSecret(line: string): boolean {
  const [, name = "", value = ""] = COMMENTED.exec(line) ?? [];
  return SECRET_NAME.test(name) && !isPublicKeyName(name) && !REFERENCE.test(value);
}

function isSecretAt(path: KeyPath, value: string): boolean {
  if (value === "" || REFERENCE.test(value)) return false;
  const name = path.findLast((part) => typeof part === "string") ?? "";
  if (secretOptions(path.slice(0, -1)).includes(name)) return true;
  if (SECRET_NAME.test(name) && !isPublicKeyName(name)) return true;
  if (path.includes("headers") && (SECRET_HEADER.test(name) || SIGNS_IN.test(value))) return true;
  return isSecretPath(path) && redact(value) !== value;
}

function textsIn(value: unknown, path: KeyPath = []): { readonly path: KeyPath; readonly value: string }[] {
  if (typeof value === "string") return [{ path, value }];
  if (Array.isArray(value)) return value.flatMap((one, index) => textsIn(one, [...path, index]));
  return isTable(value) ? Object.entries(value).flatMap(([key, one]) => textsIn(one, [...path, key])) : [];
}
