/**
 * The world of a cluster in a process of its own: a chat service whose events come to any of the daemons, and the model that they ask.
 * Tells its address over the channel to its parent, and ends with it.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import process from "node:process";
import { text as readText } from "node:stream/consumers";
import type { z } from "zod";
import { steadyNow } from "../../../src/async/clock.ts";
import { LoopbackChat } from "../../../src/platforms/local/loopback/chat.ts";
import {
  durablePost,
  eventRequest,
  type Reply,
  reply,
} from "../../../src/platforms/local/loopback/protocol.ts";
import { Random } from "../../fuzz/random.ts";
import { startListening } from "../../support/listening.ts";
import { startModelServer } from "../../support/model-server.ts";
import { ClusterModel } from "./cluster-model.ts";
import { Fronts } from "./fronts.ts";
import { openDiscord, openSlack, type Platform, type WayIn } from "./ways-in.ts";
import { type AskReceipt, sayPost, type sayReceipt, type WorldRecord } from "./world-record.ts";

const JSON_TYPE = { "content-type": "application/json" };

const [names = "", ...numbers] = process.argv.slice(2);
const [seed = 1, fastest = 30, slowest = 400] = numbers.map(Number);
const random = new Random(seed);
const chat = new LoopbackChat(() => new Date());
const fronts = new Fronts(chat.events.server, random);
/** Those in which the bot has said something. */
const answered = new Set<string>();
/** Who waits for an answer, by message. */
const asked = new Map<string, (daemon: string) => void>();
const server = await startModelServer();
/** Where each message was said, by its mark. */
const places = new Map<string, string>();
const model = new ClusterModel(server, random, { fastest, slowest }, (mark) => places.get(mark) ?? "");
const ways = names.split(",");
const platforms: Partial<Record<WayIn, Platform>> = {
  ...(ways.includes("slack") && { slack: await openSlack() }),
  ...(ways.includes("discord") && { discord: await openDiscord() }),
};
const service = createServer((request, response) => {
  serve(request, response).catch((error: unknown) => {
    if (!response.headersSent) answer(response, 400, { error: String(error) });
  });
});
const { url } = await startListening(service);
process.send?.({
  url,
  modelUrl: server.url,
  config: Object.values(platforms)
    .map(({ config }) => config)
    .join(""),
  env: Object.assign({}, ...Object.values(platforms).map(({ env }) => env)),
});
process.once("disconnect", () => process.exit(0));

/** `/people`, `/ask` and `/record` are the test's; all else is `/DAEMON/…`, as the loopback service has it. */
async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  response.on("error", () => undefined);
  const { pathname } = new URL(request.url ?? "/", "http://world");
  const body = await readText(request);
  if (pathname === "/people") return answer(response, 201, say(body));
  if (pathname === "/ask") return answer(response, 201, await ask(body));
  if (pathname === "/record") {
    const elsewhere = Object.values(platforms).flatMap((one) => one.shown());
    const record: WorldRecord = { calls: model.calls, shown: [...shown(), ...elsewhere] };
    return answer(response, 200, record);
  }
  const [, daemon = "", what, channel = "", , id = ""] = pathname.split("/").map(decodeURIComponent);
  if (what === "events") {
    const { queue } = fronts.of(daemon);
    if (channel === "durable") {
      queue.acknowledge(durablePost.parse(JSON.parse(body)));
      return answer(response, 200, {});
    }
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    const page = await queue.take(eventRequest.parse(JSON.parse(body)), gone.signal);
    if (!gone.signal.aborted) answer(response, 200, page);
    return;
  }
  if (what !== "channels") return answer(response, 404, { error: "no such thing" });
  const said = reply.parse(JSON.parse(body));
  if (request.method === "PATCH") {
    const revised = chat.revise(channel, id, said);
    tellAsked(daemon, said);
    return answer(response, revised === null ? 404 : 200, { id });
  }
  const key = String(request.headers["idempotency-key"]);
  const { id: given, isRepeated } = chat.send(channel, key, said);
  tellAsked(daemon, said);
  answered.add(channel);
  answer(response, isRepeated ? 200 : 201, { id: given });
}

/** A person says something; on the loopback service one daemon is told of it, and now and then two. */
function say(body: string): z.output<typeof sayReceipt> {
  const { way, channel, id, text, among } = sayPost.parse(JSON.parse(body));
  const platform = platforms[way];
  if (platform !== undefined) {
    const at = steadyNow();
    const place = platform.say(channel, text);
    places.set(id, place.channel);
    return { at, ...place };
  }
  places.set(id, channel);
  const said = chat.say(channel, { author: `Ann of ${channel}`, text, id, listen: false, kind: "channel" });
  const { author, at } = said;
  const message = { type: "message", channel, id, author, text, at, listen: false, kind: "channel" } as const;
  fronts.put(message, among);
  return { at: steadyNow(), channel, messageId: id };
}

/** A person says something, and waits for the whole answer. */
async function ask(body: string): Promise<AskReceipt> {
  const { id } = sayPost.parse(JSON.parse(body));
  const { promise, resolve } = Promise.withResolvers<string>();
  asked.set(id, resolve);
  const { at } = say(body);
  const daemon = await promise;
  const ms = steadyNow() - at;
  const call = model.calls.findLast(({ due }) => due.includes(id));
  return { ms, modelMs: (call?.until ?? 0) - (call?.at ?? 0), daemon };
}

function tellAsked(daemon: string, { final, inReplyTo }: Reply): void {
  if (!final) return;
  for (const id of inReplyTo) {
    asked.get(id)?.(daemon);
    asked.delete(id);
  }
}

function shown(): WorldRecord["shown"] {
  return [...answered].flatMap((channel) =>
    chat
      .conversation(channel)
      .filter(({ from }) => from === "bot")
      .map(({ id, text, reply: said }) => {
        return {
          channel,
          id,
          text,
          final: said?.final === true,
          inReplyTo: said?.inReplyTo ?? [],
          kind: said?.kind ?? "answer",
        };
      }),
  );
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, JSON_TYPE);
  response.end(JSON.stringify(body));
}
