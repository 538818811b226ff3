import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { errorCode } from "../../core/errors.ts";

const PAGE_HEAD = "<!doctype html>";

/** Whether an answer is an exported conversation, and not a message to the asker. Pure. */
export function isExport(text: string): boolean {
  return text.startsWith("# ") || text.startsWith(PAGE_HEAD);
}

/**
 * Writes an exported conversation into a new file that only its owner may read.
 * @param name of the file, relative to the current folder; if empty, the file is in `folder`, named by the channel and the day
 * @returns the message for the person; never rejects
 */
export async function saveExport(
  text: string,
  {
    name,
    folder,
    channel,
    now,
  }: { readonly name: string; readonly folder: string; readonly channel: string; readonly now: Date },
): Promise<string> {
  const plain = channel.replaceAll(/[^\p{L}\p{N}._-]+/gu, "-").slice(0, 80);
  const kind = text.startsWith(PAGE_HEAD) ? "html" : "md";
  const made = `weir-${plain}-${now.toISOString().slice(0, 10)}.${kind}`;
  const path = name === "" ? resolve(folder, made) : resolve(name);
  try {
    await writeFile(path, `${text}\n`, { flag: "wx", mode: 0o600 });
    return `Written to ${path}.`;
  } catch (error) {
    const code = errorCode(error);
    const why = code === "EEXIST" ? "there is such a file already; name another: /export FILE" : code;
    return `Nothing was written to ${path}: ${why}.`;
  }
}
