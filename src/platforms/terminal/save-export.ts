import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import process from "node:process";
import { errorCode } from "../../core/errors.ts";

/**
 * Writes what was exported of a channel into a new file of the current folder, which only its owner may read.
 * @param name of the file; "": made of the channel's and the day's
 * @returns what to tell of it; never rejects
 */
export async function saveExport(
  text: string,
  { name, channel, now }: { readonly name: string; readonly channel: string; readonly now: Date },
): Promise<string> {
  const plain = channel.replaceAll(/[^\p{L}\p{N}._-]+/gu, "-").slice(0, 80);
  const file = name === "" ? `weir-${plain}-${now.toISOString().slice(0, 10)}.md` : name;
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
