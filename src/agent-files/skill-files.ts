import { readdir, realpath, stat } from "node:fs/promises";
import { join, posix, relative, sep } from "node:path";
import { readTextFile } from "../config/text-file.ts";
import { isMissingFile } from "../core/errors.ts";

/** Files of a skill beside its SKILL.md, which are read when the model asks for them. Nothing of them is ever run. */

/** Files that are listed, and how deep in the skill's folder. */
const MOST_FILES = 50;
const DEEPEST = 3;
/** A longer one would take a good part of a window, bytes. */
const LARGEST = 64 * 1024;

/** A file of a skill cannot be had: the message says why, for the model. */
export class SkillFileError extends Error {}

/** Paths of a skill's other files, with `/`, sorted; none where the folder cannot be read. @param folder absolute */
export async function listSkillFiles(folder: string): Promise<string[]> {
  const found: string[] = [];
  const look = async (inside: string, depth: number): Promise<void> => {
    const entries = await readdir(join(folder, inside), { withFileTypes: true });
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = posix.join(inside, entry.name);
      if (entry.name.startsWith(".") || path === "SKILL.md" || found.length >= MOST_FILES) continue;
      if (entry.isDirectory() && depth < DEEPEST) await look(path, depth + 1);
      else if (entry.isFile()) found.push(path);
    }
  };
  try {
    await look("", 1);
  } catch (error) {
    if (!isMissingFile(error)) throw error;
  }
  return found;
}

/**
 * Reads a text file of a skill.
 * @param folder absolute
 * @param file its path in the folder, as a model has written it
 * @throws SkillFileError if it is elsewhere (also by a link), is not there, is no text, or is too long
 */
export async function readSkillFile(folder: string, file: string): Promise<string> {
  const missing = new SkillFileError(`The skill has no file "${file}".`);
  if (file.includes("\0")) throw missing;
  let real: string;
  try {
    const root = await realpath(folder);
    real = await realpath(join(root, file));
    const inside = relative(root, real);
    if (inside === "" || inside === ".." || inside.startsWith(`..${sep}`)) throw missing;
    const found = await stat(real);
    if (!found.isFile()) throw missing;
    if (found.size > LARGEST)
      throw new SkillFileError(`"${file}" has ${found.size} bytes; ${LARGEST} can be read.`);
  } catch (error) {
    if (error instanceof SkillFileError) throw error;
    throw new SkillFileError(missing.message, { cause: error });
  }
  const outcome = readTextFile(real, file);
  if (outcome === null) throw missing;
  if ("problem" in outcome) throw new SkillFileError(`"${file}" ${outcome.problem.message}`);
  return outcome.value;
}
