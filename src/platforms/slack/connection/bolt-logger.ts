import { LogLevel, type App } from "@slack/bolt";
import type { Logger } from "pino";

type BoltLogger = App["logger"];

/**
 * Slack's clients log message texts at debug level, and append error bodies: so only the first 200 characters
 * of a line are kept, without tokens.
 */
export function boltLogger(log: Logger): BoltLogger {
  const words = (parts: readonly unknown[]): string =>
    String(parts[0])
      .slice(0, 200)
      .replaceAll(/x(?:ox[a-z]|app)-[\w-]+/g, "[token]");
  return {
    debug: () => undefined,
    info: (...parts) => log.debug({ from: "slack", said: words(parts) }, "client_said"),
    warn: (...parts) => log.debug({ from: "slack", said: words(parts) }, "client_warned"),
    error: (...parts) => log.debug({ from: "slack", said: words(parts) }, "client_warned"),
    setLevel: () => undefined,
    getLevel: () => LogLevel.INFO,
    setName: () => undefined,
  };
}
