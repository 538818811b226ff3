import { type App, HTTPReceiver } from "@slack/bolt";
import type { Logger } from "pino";
import { errorMessage, OperatorError } from "../../../core/errors.ts";
import type { Session } from "../../shared/connection.ts";
import type { Handlers } from "./bolt-app.ts";
import { boltLogger } from "./bolt-logger.ts";

interface HttpParts {
  readonly signingSecret: string;
  readonly host: string;
  readonly port: number;
  readonly createApp: (receiver: HTTPReceiver) => App;
  readonly handlers: Pick<Handlers, "connected" | "disconnected">;
  readonly log: Logger;
  /** Called with the listening port: `port` may be 0. */
  readonly onListening?: ((port: number) => void) | undefined;
}

/**
 * HTTP mode: listens for Slack's signed requests at `/slack/events`. An event that is not durable gets an
 * error, so that it comes again.
 * @throws OperatorError if the server cannot listen on the address
 */
export async function openHttpSession(parts: HttpParts): Promise<Session> {
  const { signingSecret, host, port, log } = parts;
  const receiver = new HTTPReceiver({
    signingSecret,
    logger: boltLogger(log),
    // Answers after the work is done.
    processBeforeResponse: true,
  });
  parts.createApp(receiver);
  const { promise: closed, resolve } = Promise.withResolvers<Error | null>();
  const server = await receiver.start({ host, port }).catch((error: unknown) => {
    throw new OperatorError(
      `Slack's requests cannot be listened for on ${host}:${port} (${errorMessage(error)}): change platforms.slack.listen.`,
    );
  });
  // Not earlier: without a listener there is no connection. Not too late: requests are read in a later turn of the
  // event loop.
  parts.handlers.connected();
  void closed.then(() => parts.handlers.disconnected());
  server.once("close", () => resolve(new Error("The server for Slack's requests was closed.")));
  const address = server.address();
  if (typeof address === "object" && address !== null) parts.onListening?.(address.port);
  return {
    closed,
    async close() {
      resolve(null);
      if (!server.listening) return;
      const stopped = receiver.stop();
      server.closeIdleConnections();
      // A request in progress ends with its answer or is cut off after 1 s.
      setTimeout(() => server.closeAllConnections(), 1000).unref();
      await stopped;
    },
  };
}
