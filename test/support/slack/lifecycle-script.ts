/** A process that brings Bolt into a situation, reports that, and then writes `survived` if it survives. */
import { setTimeout as delay } from "node:timers/promises";

import { App, SocketModeReceiver } from "@slack/bolt";

import { createSocketApp } from "./bolt-app.ts";
import { type SlackServer, startSlackServer } from "./server.ts";

type Situation = (slack: SlackServer) => Promise<void>;

const SITUATIONS: Readonly<Record<string, Situation>> = {
  /** The token was revoked while the socket was open. */
  async revoked(slack) {
    const bolt = createSocketApp(slack, { clientPingTimeoutMs: 50 });
    await bolt.app.start();
    slack.faults.next({ method: "apps.connections.open", fault: "error", error: "invalid_auth" });
    slack.sockets.disconnect("warning");
  },

  /** The same, for an app that reconnects by itself. */
  async supervised(slack) {
    const bolt = createSocketApp(slack, { clientPingTimeoutMs: 50, autoReconnect: false });
    const { client } = bolt.receiver;
    client.on("disconnected", () => {
      bolt.app.start().catch((error: unknown) => process.stdout.write(`told: ${String(error)}\n`));
    });
    await bolt.app.start();
    slack.faults.next({ method: "apps.connections.open", fault: "error", error: "invalid_auth" });
    slack.sockets.disconnect("warning");
  },

  /** Bolt requests the bot's identity in its constructor. */
  async wrongToken(slack) {
    const _app = new App({
      token: "xoxb-wrong",
      receiver: new SocketModeReceiver({ appToken: slack.appToken }),
      clientOptions: { slackApiUrl: slack.apiUrl },
    });
  },

  /** If requested later, the same refusal is an error of `init`. */
  async deferred(slack) {
    const app = new App({
      token: "xoxb-wrong",
      receiver: new SocketModeReceiver({ appToken: slack.appToken }),
      clientOptions: { slackApiUrl: slack.apiUrl },
      deferInitialization: true,
    });
    await app.init().catch((error: unknown) => process.stdout.write(`told: ${String(error)}\n`));
  },

  /** Stopped between the socket's opening and its hello, during a reconnect. */
  async stopped(slack) {
    const bolt = createSocketApp(slack, { clientPingTimeoutMs: 50 });
    await bolt.app.start();
    slack.sockets.withholdHello();
    slack.sockets.disconnect("warning");
    await slack.journal.until("a second socket", () => slack.journal.sockets.at(-1)?.socket === 2);
    await bolt.app.stop();
  },
};

await using slack = await startSlackServer();
await SITUATIONS[process.argv[2] ?? ""]?.(slack);
await delay(500);
process.stdout.write("survived\n");
process.exit(0);
