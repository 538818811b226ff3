import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Config } from "../../config/config.ts";
import { loadConfig } from "../../config/load.ts";
import type { Io } from "../shared/io.ts";

/**
 * Small, so that 400 messages fill it several times. Summaries are not written ahead, so that each threshold shows when it acts;
 * and a paused demo must not run into the deadline of a summary.
 */
const CONFIG = `[database]
data_dir = "."
[[agents]]
id = "weir"
model = "offline"
context_window = 6000
max_output_tokens = 800
generation_reserve = 200
[agents.compaction]
write_ahead = false
deadline_ms = 3600000
`;

/** A home that lasts as long as the demo. Disposing it removes the folder with all that is in it. */
export interface ThrowawayFolder extends Disposable {
  readonly config: Config;
}

/**
 * Makes a home of its own among the temporary files. It reads nothing of the operator's: no config.toml, no variable.
 * @param onExit see `Io`
 */
export function makeThrowawayFolder(onExit: Io["onExit"]): ThrowawayFolder {
  const folder = mkdtempSync(path.join(realpathSync(tmpdir()), "weir-demo-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  onExit(remove);
  writeFileSync(path.join(folder, "config.toml"), CONFIG);
  return { config: loadConfig({ cwd: folder, env: {} }), [Symbol.dispose]: remove };
}
