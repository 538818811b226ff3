import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import process from "node:process";
import { errorCode } from "../../core/errors.ts";

const PAGE_HEAD = "<!doctype html>";

/** Whether an answer is an exported conversation, and not a message to the asker. Pure. */
export function isExport(text: string): boolean {
  return text.startsWith("# ") || text.startsWith(PAGE_HEAD);
}

/**
 * Writes an exported conversation into a new file of the current folder that only its owner may read.
 * @param name of the file; if empty, it is made of the channel's name and the day
 * @returns the message for the person; never rejects
 */
export async function saveExport(
  text: string,
  { name, channel, now }: { readonly name: string; readonly channel: string; readonly now: Date },
): Promise<string> {
  const plain = channel.replaceAll(/[^\p{L}\p{N}._-]+/gu, "-").slice(0, 80);
  const kind = text.startsWith(PAGE_HEAD) ? "html" : "md";
  const file = name === "" ? `weir-${plain}-${now.toISOString().slice(0, 10)}.${kind}` : name;
  const path = resolve(process.cwd(), file);
  try {
    await writeFile(path, `${text}\n`, { flag: "wx", mode: 0o600 });
    return `Written to ${path}.`;
  } catch (error) {
    const code = errorCode(error);
    const why = code === "EEXIST" ? "there is such a file already; name another: /export FILE" : code;
    return `Nothing was written to ${path}: ${why}.`;
  }
}
