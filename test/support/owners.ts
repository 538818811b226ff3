import type { Asker } from "../../src/platforms/platform.ts";

/** The owner under the configuration `OWNED`. */
export const OWNER: Asker = { id: "u-own", name: "Olga", roles: [] };

/** The token is invalid: Discord is not connected here, and the test's platform serves its channels. */
export const OWNED = `[platforms.discord]
token = "env:OPENAI_BASE_URL"
owners = ["u-own"]`;
