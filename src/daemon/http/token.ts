import { randomBytes } from "node:crypto";
import path from "node:path";
import { errorMessage, isMissingFile, OperatorError } from "../../core/errors.ts";
import { readText, SHORT, UnreadableFileError } from "../../files/read-file.ts";
import { HTTP_TOKEN, PAGE_KEY, putPrivateFile, unusable } from "../../store/database/data-folder.ts";
import { isSameSecret } from "../../network/same-secret.ts";

const TOKEN_BYTES = 32;
/** The body of a 401; its wording identifies Weir. */
export const SHOW_TOKEN = "show the token: Authorization: Bearer TOKEN";
const TOKEN_TEXT = /^[\u0021-\u007e]{16,}$/;

export interface HttpToken {
  readonly text: string;
  /** The file in which it was just created; null: it is not new. */
  readonly newIn: string | null;
}

/**
 * The configured token, or that of the data folder, which is created if absent.
 * @throws OperatorError if the file holds no token
 */
export async function openToken(configured: string | null, dataDir: string): Promise<HttpToken> {
  if (configured !== null) return { text: configured, newIn: null };
  return openFile(dataDir, HTTP_TOKEN);
}

/**
 * The key of the page, which is created if absent. It is not the token: programs that only read have that, and the page acts.
 * @throws OperatorError if the file holds no key
 */
export async function openPageKey(dataDir: string): Promise<string> {
  return (await openFile(dataDir, PAGE_KEY)).text;
}

/** The key of the page that the daemon of this data folder has made; null: it has made none. */
export function findPageKey(dataDir: string): string | null {
  return readToken(path.join(dataDir, PAGE_KEY));
}

async function openFile(dataDir: string, name: string): Promise<HttpToken> {
  const file = path.join(dataDir, name);
  const found = readToken(file);
  if (found !== null) return { text: found, newIn: null };
  await putPrivateFile(file, `${randomBytes(TOKEN_BYTES).toString("base64url")}\n`).catch(
    (cause: unknown) => {
      throw unusable(dataDir, cause);
    },
  );
  // Another daemon may have created it at the same time.
  const made = readToken(file);
  if (made === null) throw new OperatorError(`${file} was removed while it was made.`);
  return { text: made, newIn: file };
}

/** Null: there is none. */
function readToken(file: string): string | null {
  let text: string;
  try {
    text = readText(file, SHORT).trim();
  } catch (error) {
    if (isMissingFile(error)) return null;
    const why = error instanceof UnreadableFileError ? error.why : errorMessage(error);
    throw new OperatorError(`${file}, a secret of [http], ${why}. Check it and its owner.`, { cause: error });
  }
  if (TOKEN_TEXT.test(text)) return text;
  throw new OperatorError(
    `${file} holds no secret: at least 16 plain characters without white space. Remove it, and a new one is made.`,
  );
}

/** What a client's header says of the token. */
export function judgeToken(authorization: string | undefined, token: string): "none" | "wrong" | "right" {
  if (authorization === undefined) return "none";
  const shown = /^bearer +(?<token>\S+) *$/i.exec(authorization)?.groups?.["token"] ?? "";
  return isSameSecret(shown, token) ? "right" : "wrong";
}
