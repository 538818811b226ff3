/** Code in its own process, whose imports a test observes or changes. */
import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";

const ROOT = path.join(import.meta.dirname, "..", "..");

/**
 * Runs a module at the root of the checkout; all that it has started ends with its last line.
 * @param resolve body of a hook (`specifier`, `context`, `next`) for each import from then on
 * @returns its output
 */
export async function runHooked(code: string, resolve: string): Promise<string> {
  const hooked = `
    import { registerHooks } from "node:module";
    registerHooks({ resolve(specifier, context, next) { ${resolve} } });
    ${code}
    process.exit(0);`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", hooked], {
    cwd: ROOT,
  });
  return stdout.trim();
}

/** The matching URLs of all modules that a module loads, also indirectly. */
export async function loadedBy(code: string, watched: RegExp): Promise<string[]> {
  const resolve = `const found = next(specifier, context);
      if (${String(watched)}.test(found.url)) seen.push(found.url);
      return found;`;
  return JSON.parse(await runHooked(`const seen = []; ${code}; console.log(JSON.stringify(seen));`, resolve));
}
