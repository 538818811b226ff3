// proves: src/network/use-proxies.ts
// The clients that Weir uses, each through a proxy on loopback that writes down what it is asked for.
import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import { describe, type TestContext, test } from "node:test";
import { pino } from "pino";
import {
  DefaultWebSocketManagerOptions,
  type IContextFetchingStrategy,
  WebSocketShardEvents,
} from "@discordjs/ws";
import { WebSocketServer } from "ws";
import { type Handlers, createApp } from "../../src/platforms/slack/connection/bolt-app.ts";
import { openSocketSession } from "../../src/platforms/slack/connection/socket-session.ts";
import { SlackApi } from "../../src/platforms/slack/web/api.ts";
import { nothing } from "../../src/platforms/slack/web/names.ts";
import { SLACK_TIMING } from "../../src/platforms/slack/timing.ts";
import { GatewaySession } from "../../src/platforms/discord/gateway/session.ts";
import { createShard } from "../../src/platforms/discord/gateway/shard.ts";
import { Logins } from "../../src/platforms/discord/gateway/logins.ts";
import { DiscordApi } from "../../src/platforms/discord/rest/api.ts";
import { DISCORD_TIMING } from "../../src/platforms/discord/timing.ts";
import { LocalShards } from "../../src/platforms/shared/shard-homes.ts";
import { readAttachments } from "../../src/platforms/shared/attachments.ts";
import { probeOllama } from "../../src/llm/catalog/ollama.ts";
import { createEmbeddings } from "../../src/llm/embeddings.ts";
import { McpConnection } from "../../src/mcp/connection.ts";
import { lookAtProxies } from "../../src/cli/doctor/look-at-machine.ts";
import { useProxies } from "../../src/network/use-proxies.ts";
import { type Listening, startListening } from "../support/listening.ts";
import {
  answering,
  closing,
  type HttpProxy,
  PASSWORD,
  someTurns,
  startHttpProxy,
  trustProxy,
} from "../support/network/http-proxy.ts";

trustProxy();

const log = pino({ level: "silent" });

/** Stands for every server behind the proxy. */
async function startWorld(): Promise<Listening> {
  const server: Server = createServer((request, response) => {
    const path = request.url ?? "";
    const json = (body: unknown): void => {
      response.setHeader("content-type", "application/json").end(JSON.stringify(body));
    };
    request.resume();
    if (path.endsWith("/embeddings")) return json({ data: [{ index: 0, embedding: [1, 2] }] });
    if (path.endsWith("/gateway/bot"))
      return json({
        url: "wss://gateway.discord.gg",
        shards: 1,
        session_start_limit: { total: 9, remaining: 9, reset_after: 0, max_concurrency: 1 },
      });
    if (path.endsWith("/apps.connections.open"))
      return json({ ok: true, url: "wss://wss-primary.slack.com/link/" });
    if (path.endsWith(".txt")) return void response.end("from behind the proxy");
    return json({ ok: true });
  });
  const sockets = new WebSocketServer({ server });
  sockets.on("connection", (socket, { url = "" }) => {
    if (url.startsWith("/link")) return socket.send('{"type":"hello"}');
    socket.on("message", (data) => {
      if (!Buffer.isBuffer(data) || !data.includes('"op":2')) return;
      const d = { session_id: "s", resume_gateway_url: "wss://gateway.discord.gg" };
      socket.send(JSON.stringify({ op: 0, t: "READY", s: 1, d }));
    });
    socket.send(JSON.stringify({ op: 10, d: { heartbeat_interval: 60_000 } }));
  });
  const listening = await startListening(server);
  return {
    ...listening,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets.clients) socket.terminate();
      await listening[Symbol.asyncDispose]();
    },
  };
}

interface Scene {
  readonly proxy: HttpProxy;
  readonly world: Listening;
}

type RefusalParts = Parameters<typeof startHttpProxy> extends [unknown, ...infer Rest] ? Rest : never;

async function scene(t: TestContext, ...refusing: RefusalParts): Promise<Scene> {
  const world = await startWorld();
  const proxy = await startHttpProxy(world.port, ...refusing);
  const used = useProxies({ https: proxy.url, http: proxy.url, except: "direct.test" });
  t.after(async () => {
    used[Symbol.dispose]();
    await proxy[Symbol.asyncDispose]();
    await world[Symbol.asyncDispose]();
  });
  return { proxy, world };
}

const discordApi = (): DiscordApi => new DiscordApi({ token: "t", apiUrl: null, timing: DISCORD_TIMING });

async function embed(origin: string): Promise<void> {
  const server = createEmbeddings({
    model: "m",
    sentAs: "m",
    serverHeaders: {},
    dimensions: 0,
    baseUrl: `${origin}/v1`,
    apiKey: null,
  });
  await server.embed(["a"], new AbortController().signal);
}

async function readFile(): Promise<void> {
  let failure: string | null = null;
  const own = { hosts: ["discord.com"], apiUrl: null };
  const { texts } = await readAttachments(
    [{ name: "a.txt", type: "text/plain", size: 10, url: "https://discord.com/a.txt" }],
    { own, onFailure: (_name, why) => (failure = why) },
  );
  if (failure !== null) throw new Error(failure);
  assert.match(texts.join(), /from behind the proxy/);
}

async function openGateway(): Promise<GatewaySession> {
  using api = discordApi();
  const parts = { token: "t", shard: 0, shards: 1, timing: { readyMs: 1500, closeMs: 100 }, log };
  const logins = new Logins(api, new LocalShards(), { isLoginPaced: false }, null);
  const calls = { resumable: null, dispatch: () => undefined, interrupted: () => undefined };
  return await GatewaySession.open({ ...parts, ...calls, logins }, new AbortController().signal);
}

async function openSocket(): Promise<void> {
  const bot = { botId: "B", userId: "U", teamId: "T", teamName: "", teamUrl: "", name: "", scopes: [] };
  const handlers: Handlers = {
    event: async () => true,
    command: async () => undefined,
    press: async () => undefined,
    submit: async () => undefined,
    connected: () => undefined,
    disconnected: () => undefined,
  };
  const options = { token: "xoxb-1", apiUrl: null, timeoutMs: 5000, log };
  const session = await openSocketSession(
    {
      appToken: "xapp-1",
      apiUrl: null,
      createApp: (receiver) => createApp(receiver, handlers, { ...options, bot }),
      handlers,
      log,
      timing: SLACK_TIMING,
    },
    new AbortController().signal,
  );
  await session.close();
}

async function openMcp(): Promise<void> {
  await using connection = new McpConnection({
    config: {
      name: "web",
      reach: { kind: "url", url: "https://mcp.test/mcp", headers: {} },
      tools: [],
      timeoutMs: null,
      approve: "writes",
      secrets: [],
    },
    log,
    mask: (text) => text,
  });
  await connection.opened();
  if (connection.problem !== null) throw new Error(connection.problem);
}

interface Client {
  readonly name: string;
  readonly asks: readonly string[];
  /** Works where the proxy does, but for MCP: no server of that kind is behind it. */
  readonly use: () => Promise<unknown>;
}

const CLIENTS: readonly Client[] = [
  { name: "openai", asks: ["CONNECT models.test:443"], use: async () => embed("https://models.test") },
  {
    name: "openai, plain",
    asks: ["POST http://models.test/v1/embeddings"],
    use: async () => embed("http://models.test"),
  },
  {
    name: "fetch",
    asks: ["CONNECT models.test:443"],
    use: async () => (await fetch("https://models.test/x")).text(),
  },
  { name: "attachments", asks: ["CONNECT discord.com:443"], use: readFile },
  {
    name: "discord.js REST",
    asks: ["CONNECT discord.com:443"],
    use: async () => {
      using api = discordApi();
      await api.call({ method: "GET", route: "/gateway/bot" });
    },
  },
  {
    name: "@slack/web-api",
    asks: ["CONNECT slack.com:443"],
    use: async () =>
      new SlackApi({ token: "xoxb-1", apiUrl: null, timeoutMs: 5000, log }).call("api.test", {}, nothing),
  },
  {
    name: "Bolt's socket",
    asks: ["CONNECT slack.com:443", "CONNECT wss-primary.slack.com:443"],
    use: openSocket,
  },
  {
    name: "@discordjs/ws",
    asks: ["CONNECT discord.com:443", "CONNECT gateway.discord.gg:443"],
    use: async () => (await openGateway()).close(),
  },
];
const MCP: Client = { name: "MCP", asks: ["CONNECT mcp.test:443"], use: openMcp };

describe("through the proxy", () => {
  for (const { name, asks, use } of CLIENTS)
    test(name, async (t) => {
      const { proxy } = await scene(t);
      await use().catch((error: unknown) => {
        // The plain proxy answers by itself.
        if (!name.includes("plain")) throw error;
      });
      assert.deepEqual(proxy.asked, asks);
      const login = `Basic ${Buffer.from(`weir:${PASSWORD}`).toString("base64")}`;
      assert.deepEqual(new Set(proxy.logins), new Set([login]));
    });
  test(MCP.name, async (t) => {
    const { proxy } = await scene(t);
    await MCP.use().catch(() => undefined);
    assert.deepEqual([...new Set(proxy.asked)], MCP.asks);
  });
});

const REFUSALS: readonly (readonly [
  name: string,
  refuse: NonNullable<Parameters<typeof startHttpProxy>[1]>,
])[] = [
  ["closes each connection", closing],
  [
    "wants a login (407)",
    answering("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 4\r\n\r\n<p/>"),
  ],
  ["refuses (403)", answering("HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\n\r\n<p/>")],
  ["answers with a page", answering("<html><h1>Gateway login page</h1></html>\r\n\r\n")],
];

for (const [name, refuse] of REFUSALS)
  describe(`a proxy that ${name} is asked once for each request, and named`, () => {
    for (const client of [...CLIENTS.filter(({ asks }) => asks[0]?.startsWith("CONNECT")), MCP])
      test(client.name, async (t) => {
        const { proxy } = await scene(t, refuse);
        const error = await client.use().then(
          () => assert.fail("it did not fail"),
          (one: unknown) => one,
        );
        await someTurns();
        assert.deepEqual(proxy.asked, client.asks.slice(0, 1));
        assert.ok(error instanceof Error);
        const shown = `${error.message} ${error.cause instanceof Error ? error.cause.message : ""}`;
        assert.match(shown, new RegExp(`the proxy http://127\\.0\\.0\\.1:${proxy.port} `));
        assert.doesNotMatch(shown, new RegExp(`${PASSWORD}|<html|<p/>`));
      });
  });

test("a plain request that the proxy answers with 407 is the proxy's failure", async (t) => {
  const { proxy } = await scene(t, REFUSALS[1]?.[1]);
  await assert.rejects(embed("http://models.test"), /the proxy http:.* wants a name and a password/);
  await assert.rejects(fetch("http://models.test/x"), (error: Error) =>
    /the proxy http:.* wants a name and a password/.test(String(error.cause)),
  );
  assert.equal(proxy.asked.length, 2);
});

test("this machine, and NO_PROXY, are asked directly by each client", async (t) => {
  const { proxy, world } = await scene(t, closing);
  await embed(world.url);
  await (await fetch(`${world.url}/x`)).text();
  await probeOllama(world.url, 5000);
  for (const name of ["direct.test", "below.direct.test"])
    await assert.rejects(fetch(`https://${name}:1/`), (error: Error) => !/proxy/.test(String(error.cause)));
  assert.deepEqual(proxy.asked, []);
});

test("without proxies nothing is changed", async () => {
  const before: unknown = Reflect.get(globalThis, Symbol.for("undici.globalDispatcher.1"));
  using _ = useProxies(null);
  assert.equal(Reflect.get(globalThis, Symbol.for("undici.globalDispatcher.1")), before);
});

test("@discordjs/ws waits longer before each socket that a proxy closes", async (t) => {
  const { proxy } = await scene(t, closing);
  const waits: number[] = [];
  const enough = Promise.withResolvers<void>();
  const gatewayInformation = {
    url: "wss://gateway.discord.gg",
    shards: 1,
    session_start_limit: { total: 9, remaining: 9, reset_after: 0, max_concurrency: 1 },
  };
  const strategy: IContextFetchingStrategy = {
    options: { ...DefaultWebSocketManagerOptions, intents: 0, token: "t", shardCount: 1, gatewayInformation },
    retrieveSessionInfo: async () => null,
    updateSessionInfo: async () => undefined,
    waitForIdentify: async () => undefined,
  };
  const shard = createShard({
    shard: 0,
    strategy,
    passedOver: () => undefined,
    failed: () => undefined,
    wait: async (ms) => {
      waits.push(ms);
      if (waits.length < 3) return;
      enough.resolve();
      await new Promise(() => undefined);
    },
  });
  shard.on(WebSocketShardEvents.Error, () => undefined);
  shard.connect().catch(() => undefined);
  await enough.promise;
  assert.deepEqual(waits, [1000, 2000, 4000]);
  assert.deepEqual(new Set(proxy.asked), new Set(["CONNECT gateway.discord.gg:443"]));
  assert.equal(proxy.asked.length, 4);
});

test("a gateway that a proxy refuses is told with the proxy's answer, and the page of the proxy is not", async (t) => {
  const { proxy } = await scene(t, answering("HTTP/1.1 403 Forbidden\r\n\r\n<p/>"), /gateway/);
  await assert.rejects(openGateway(), (error: Error) => {
    assert.match(
      error.message,
      /^Discord could not be reached: the proxy http:\S+ refuses the connection \(403\)$/,
    );
    return true;
  });
  assert.deepEqual(
    new Set(proxy.asked),
    new Set(["CONNECT discord.com:443", "CONNECT gateway.discord.gg:443"]),
  );
});

test("weir doctor shows the proxies without name and password, and says what goes without one", () => {
  const proxies = { https: `http://weir:${PASSWORD}@proxy.test:3128/`, http: null, except: "a.test" };
  assert.deepEqual(lookAtProxies({ proxies: null }), []);
  const detail = lookAtProxies({ proxies })[0]?.detail ?? "";
  assert.match(
    detail,
    /^https is asked through http:\/\/proxy\.test:3128, http directly; .*NO_PROXY, Postgres and RabbitMQ$/,
  );
});
