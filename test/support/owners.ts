import type { Asker } from "../../src/platforms/platform.ts";

/** Who may do everything where `OWNED` stands in the configuration. */
export const OWNER: Asker = { id: "u-own", name: "Olga", roles: [] };

/** The token is none: no Discord is connected to here, and the platform of the test speaks for its channels. */
export const OWNED = `[platforms.discord]
token = "env:OPENAI_BASE_URL"
owners = ["u-own"]`;
