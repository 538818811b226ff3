/**
 * A small Discord on loopback for tests: gateway, REST v10 and attachments, with a world that tests drive, scripted
 * faults and a journal of all traffic. Real clients connect to it.
 *
 *     await using server = await startDiscordServer({ heartbeatIntervalMs: 200 });
 *     const guild = server.world.addGuild();
 *     const channel = server.world.addChannel({ guild, name: "general" });
 *     const client = new Client({ intents, rest: { api: server.api, cdn: server.url } });
 *     await client.login(server.token);
 *     server.world.say(server.world.addUser({ name: "ada" }), channel, "hello");
 *     server.gateway.cut();
 *     server.faults.next({ method: "POST", route: ROUTE_MESSAGES, fault: { kind: "reset", when: "after" } });
 *     server.messages(channel);
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

import { wordsIn } from "./components.ts";
import { CONTROL_PATH, serveControl } from "./control.ts";
import { Faults } from "./faults.ts";
import { serveFile } from "./files.ts";
import { Gateway } from "./gateway.ts";
import { Journal } from "./journal.ts";
import { pingsOf, type Pings } from "./mentions.ts";
import type { Limit } from "./rest/buckets.ts";
import { RestApi } from "./rest/rest-api.ts";
import { State, type DiscordOptions } from "./state.ts";
import { World } from "./world.ts";

/** The route that sends and lists messages. */
export const ROUTE_MESSAGES = "/channels/:channel/messages";
export const ROUTE_MESSAGE = "/channels/:channel/messages/:message";

/** A message as people see it in its channel. */
export interface VisibleMessage {
  readonly id: string;
  readonly authorId: string;
  /** Whether the bot wrote it. */
  readonly isBots: boolean;
  readonly text: string;
  readonly replyTo: string | null;
  readonly isEdited: boolean;
  /** A deferred answer of a command, without a text yet. */
  readonly isLoading: boolean;
  readonly files: readonly string[];
  /** User ids by emoji. */
  readonly reactions: Readonly<Record<string, readonly string[]>>;
}

/** The running server. Disposing ends every connection, and resolves when the port is free. */
export class DiscordServer implements AsyncDisposable {
  readonly world: World;
  readonly gateway: Gateway;
  readonly faults = new Faults();
  readonly journal = new Journal();
  readonly #state: State;
  readonly #rest: RestApi;
  #port: number;
  readonly #http = createServer((request, response) => this.#serve(request, response));

  constructor(options: DiscordOptions) {
    this.#state = new State(options);
    this.#port = this.#state.options.port;
    this.world = new World(this.#state);
    this.gateway = new Gateway(this.#state, this.journal);
    this.#rest = new RestApi(this.#state, this.faults, this.journal);
    this.#state.emit = (event) => this.gateway.deliveries.offer(event);
    this.gateway.listen(this.#http);
  }

  /** Listens; after an outage on the same port. */
  async listen(): Promise<void> {
    this.#http.listen(this.#port, "127.0.0.1");
    await once(this.#http, "listening");
    const address = this.#http.address();
    assert(typeof address === "object" && address !== null);
    this.#port = address.port;
    this.#state.origin = `http://127.0.0.1:${address.port}`;
  }

  /** Refuses every connection until it listens again. Sessions and messages stay. */
  async outage(): Promise<void> {
    const closed = once(this.#http, "close");
    this.#http.close();
    this.gateway.cut();
    this.#http.closeAllConnections();
    await closed;
  }

  /** `http://127.0.0.1:PORT`, also for the CDN. */
  get url(): string {
    return this.#state.origin;
  }

  /** The client's `rest.api`. */
  get api(): string {
    return `${this.url}/api`;
  }

  /** The only valid token. */
  get token(): string {
    return this.#state.options.token;
  }

  /** The channel's messages as everybody there sees them, oldest first, without ephemeral answers. */
  messages(channelId: string): VisibleMessage[] {
    return this.#state.history(this.#state.channel(channelId)).map((message) => ({
      id: message.id,
      authorId: message.authorId,
      isBots: message.authorId === this.#state.bot.id,
      text: wordsIn(message),
      replyTo: message.replyTo,
      isEdited: message.editedAt !== null,
      isLoading: message.isLoading,
      files: message.files.map((file) => file.name),
      reactions: Object.fromEntries([...message.reactions].map(([emoji, users]) => [emoji, [...users]])),
    }));
  }

  /** Texts of the bot's messages there, oldest first. */
  answers(channelId: string): string[] {
    return this.messages(channelId)
      .filter((message) => message.isBots)
      .map((message) => message.text);
  }

  /** Files of the bot's messages there, oldest first: `NAME: TEXT`. */
  sentFiles(channelId: string): string[] {
    return this.#state
      .history(this.#state.channel(channelId))
      .filter(({ authorId }) => authorId === this.#state.bot.id)
      .flatMap(({ files }) => files.map(({ name, body }) => `${name}: ${Buffer.from(body).toString()}`));
  }

  /** The people whom a message pinged. */
  pings(messageId: string): Pings {
    return pingsOf(this.#state, this.#state.message(messageId));
  }

  /** Names of the registered commands, the guild's own or the global ones. */
  commands(guildId: string | null = null): string[] {
    return [...this.#state.commands.values()]
      .filter((record) => record.guildId === guildId)
      .map(({ command }) => command.name);
  }

  /** Sets a bucket's limit. @param route pattern as in the route table */
  limit(method: string, route: string, limit: Limit): void {
    this.#rest.buckets.set(method, route, limit);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#http.listening) await this.outage();
    await this.gateway.stop();
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    // A client that disconnects while we write is part of the tests, never a failure of the server.
    response.on("error", () => undefined);
    this.#route(request, response).catch((error: unknown) => {
      if (request.destroyed && !request.complete) return;
      response.destroy();
      throw error;
    });
  }

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? "/";
    if (path === CONTROL_PATH) await serveControl(this, request, response);
    else if (path.startsWith("/attachments/")) await serveFile(this.#state, request, response);
    else await this.#rest.serve(request, response);
  }
}

/** Starts the server on a free port of 127.0.0.1. */
export async function startDiscordServer(options: DiscordOptions = {}): Promise<DiscordServer> {
  const server = new DiscordServer(options);
  await server.listen();
  return server;
}
