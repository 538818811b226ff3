import { App, HTTPReceiver, LogLevel, SocketModeReceiver, type types } from "@slack/bolt";

import type { SlackServer } from "./server.ts";

type WebClientOptions = NonNullable<NonNullable<ConstructorParameters<typeof App>[0]>["clientOptions"]>;

/** An event as the app's listener sees it. */
export interface HeardEvent {
  readonly event: types.SlackEvent;
  readonly eventId: string;
  readonly retryNum: number | undefined;
  readonly retryReason: string | undefined;
}

export interface BoltOptions {
  /** For the app's Web API client. Default: no retry. */
  readonly clientOptions?: WebClientOptions;
  /** For `apps.connections.open`. Default: no retry. */
  readonly connectionOptions?: WebClientOptions;
  readonly autoReconnect?: boolean;
  /** Also the client's wait before it reconnects. */
  readonly clientPingTimeoutMs?: number;
  readonly serverPingTimeoutMs?: number;
  /** HTTP mode: answers only when the listeners have finished. */
  readonly processBeforeResponse?: boolean;
}

/** The real Bolt on a Slack server, with its received events. */
export interface BoltApp<Receiver> extends AsyncDisposable {
  readonly app: App;
  readonly receiver: Receiver;
  readonly heard: readonly HeardEvent[];
  /** Log lines, such as `warn: …`. */
  readonly log: readonly string[];
}

/** An app in Socket Mode, not started: `bolt.app.start()`. */
export function createSocketApp(slack: SlackServer, options: BoltOptions = {}): BoltApp<SocketModeReceiver> {
  const log: string[] = [];
  const receiver = new SocketModeReceiver({
    appToken: slack.appToken,
    logger: createLogger(log),
    clientPingTimeout: options.clientPingTimeoutMs ?? 300,
    ...(options.serverPingTimeoutMs === undefined ? {} : { serverPingTimeout: options.serverPingTimeoutMs }),
    autoReconnectEnabled: options.autoReconnect ?? true,
    installerOptions: {
      clientOptions: {
        slackApiUrl: slack.apiUrl,
        retryConfig: { retries: 0 },
        ...options.connectionOptions,
      },
    },
  });
  const { app, heard } = createApp(slack, receiver, log, options);
  return { app, receiver, heard, log, [Symbol.asyncDispose]: async () => receiver.client.disconnect() };
}

/** An app in HTTP mode, started on a free port and known to the server as its request URL. */
export async function startHttpApp(
  slack: SlackServer,
  options: BoltOptions = {},
): Promise<BoltApp<HTTPReceiver>> {
  const log: string[] = [];
  const receiver = new HTTPReceiver({
    signingSecret: slack.signingSecret,
    logger: createLogger(log),
    processBeforeResponse: options.processBeforeResponse ?? false,
    unhandledRequestTimeoutMillis: 1_000,
  });
  const { app, heard } = createApp(slack, receiver, log, options);
  const server = await app.start({ port: 0, host: "127.0.0.1" });
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("The app has no port");
  slack.requestUrl.url = `http://127.0.0.1:${address.port}/slack/events`;
  return {
    app,
    receiver,
    heard,
    log,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await app.stop();
    },
  };
}

function createApp(
  slack: SlackServer,
  receiver: SocketModeReceiver | HTTPReceiver,
  log: string[],
  options: BoltOptions,
): { readonly app: App; readonly heard: readonly HeardEvent[] } {
  const heard: HeardEvent[] = [];
  const app = new App({
    token: slack.botToken,
    receiver,
    logger: createLogger(log),
    convoStore: false,
    ignoreSelf: false,
    clientOptions: { slackApiUrl: slack.apiUrl, retryConfig: { retries: 0 }, ...options.clientOptions },
  });
  app.event(/.*/, async ({ event, body, context }) => {
    heard.push({
      event,
      eventId: body.event_id,
      retryNum: context.retryNum,
      retryReason: context.retryReason,
    });
  });
  return { app, heard };
}

type BoltLogger = NonNullable<NonNullable<ConstructorParameters<typeof App>[0]>["logger"]>;

function createLogger(lines: string[]): BoltLogger {
  const write =
    (level: string) =>
    (...parts: unknown[]): void => {
      lines.push(`${level}: ${parts.map(String).join(" ")}`);
    };
  return {
    debug: () => undefined,
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    setLevel: () => undefined,
    getLevel: () => LogLevel.INFO,
    setName: () => undefined,
  };
}
