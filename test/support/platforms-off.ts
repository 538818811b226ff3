import type { PlatformsConfig } from "../../src/config/config.ts";
import { loadConfig } from "../../src/config/load.ts";

/** All platforms switched off: the configuration without any token. */
export const PLATFORMS_OFF: PlatformsConfig = loadConfig({ cwd: import.meta.dirname, env: {} }).platforms;
