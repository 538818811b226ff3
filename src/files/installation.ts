/** Where this Weir's own files are, and the command by which a person runs it there. */
import { existsSync } from "node:fs";
import { join } from "node:path";

/** Absolute path of the folder with `package.json`, `src`, `migrations` and `prompts`. */
export const ROOT = join(import.meta.dirname, "..", "..");

/** A clone, which npm scripts run. Installed by npm, and in the image, `weir` is a command. */
export const IS_CLONE = existsSync(join(ROOT, "scripts", "setup.mjs"));

/**
 * What a person types to run a command of Weir, here.
 * @param words the command and its arguments, without `weir`
 */
export function weirCommand(words: string, isClone = IS_CLONE): string {
  if (!isClone) return `weir ${words}`;
  return words === "start" ? "npm start" : `npm run -s weir -- ${words}`;
}
