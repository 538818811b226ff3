import type { PlatformsConfig } from "../../src/config/config.ts";
import { loadConfig } from "../../src/config/load.ts";

/** Each platform that there is, switched off: what a configuration without any token says. */
export const PLATFORMS_OFF: PlatformsConfig = loadConfig({ cwd: import.meta.dirname, env: {} }).platforms;
