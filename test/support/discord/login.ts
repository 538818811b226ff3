/** The real client for this folder's tests, pointed at the test server, with minimal waits. */
import { Client, Events, GatewayIntentBits, Partials, type ClientOptions } from "discord.js";

import type { DiscordServer } from "./server.ts";

const INTENTS = [
  GatewayIntentBits.Guilds,
  GatewayIntentBits.GuildMessages,
  GatewayIntentBits.GuildMessageReactions,
  GatewayIntentBits.MessageContent,
  GatewayIntentBits.DirectMessages,
];

/** A client before its login. Disposing destroys it. */
export function createClient(
  server: DiscordServer,
  options: Partial<ClientOptions> = {},
): Client<true> & AsyncDisposable {
  const client = new Client<true>({
    intents: INTENTS,
    partials: [Partials.Channel, Partials.Message, Partials.Reaction],
    rest: { api: server.api, cdn: server.url, mediaProxy: server.url, offset: 0 },
    // The built-in throttler waits five seconds between two IDENTIFYs.
    ws: {
      buildIdentifyThrottler: async () => Promise.resolve({ waitForIdentify: async () => Promise.resolve() }),
    },
    ...options,
  });
  return Object.assign(client, { [Symbol.asyncDispose]: async () => client.destroy() });
}

/** Logs in, and resolves when the guilds are there. */
export async function login(
  server: DiscordServer,
  options: Partial<ClientOptions> = {},
): Promise<Client<true> & AsyncDisposable> {
  const client = createClient(server, options);
  const ready = new Promise((resolve) => client.once(Events.ClientReady, resolve));
  await client.login(server.token);
  await ready;
  return client;
}
