import { once } from "node:events";
import { createAdaptorServer, type HttpBindings } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { HTTPException } from "hono/http-exception";
import { errorMessage, OperatorError, unreachable } from "../../../core/errors.ts";
import { type ChatMessage, type JournalLine, LoopbackChat } from "./chat.ts";
import { hostsOf, localOnly, nameInUrl } from "../local-only.ts";
import {
  commandAnswer,
  commandPost,
  durablePost,
  eventRequest,
  type Fault,
  faultPost,
  MAX_BODY_BYTES,
  MAX_WAIT_MS,
  messagePatch,
  messagePost,
  type Reply,
  reply,
} from "./protocol.ts";
import { pause } from "../../../async/clock.ts";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { z } from "zod";

interface LoopbackServerOptions {
  /** Default: 0, a free one. */
  readonly port?: number;
  /** Default: 127.0.0.1. Every program that reaches the service may do everything, so it is for one machine. */
  readonly host?: string;
  readonly now?: () => Date;
}

export interface LoopbackServer extends AsyncDisposable {
  /** `http://127.0.0.1:4321`, without a slash at its end. */
  readonly url: string;
}

/**
 * Starts a chat service for tests and scripts: HTTP, in memory, one machine. Like the servers of a real platform it outlives
 * the daemon, so it is best run in a process of its own.
 * @throws OperatorError if it can't listen there
 */
export async function startLoopbackServer(options: LoopbackServerOptions = {}): Promise<LoopbackServer> {
  const { port = 0, host = "127.0.0.1" } = options;
  const shutdown = new AbortController();
  let hosts: readonly string[] = [];
  const app = createApp(new LoopbackChat(options.now ?? (() => new Date())), () => hosts, shutdown.signal);
  const server = createAdaptorServer({ fetch: app.fetch });
  server.listen(port, host);
  await once(server, "listening").catch((error: unknown) => {
    const why = `The loopback service can't listen on ${host}:${port}: ${errorMessage(error)}`;
    throw new OperatorError(why, { cause: error });
  });
  const address = server.address();
  const taken = typeof address === "object" && address !== null ? address.port : port;
  hosts = hostsOf(host, taken);
  return {
    url: `http://${nameInUrl(host)}:${taken}`,
    [Symbol.asyncDispose]: async () => {
      shutdown.abort();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        if ("closeAllConnections" in server) server.closeAllConnections();
      });
    },
  };
}

function createApp(chat: LoopbackChat, hosts: () => readonly string[], shutdown: AbortSignal): Hono {
  const faults = new FaultScript();
  const app = new Hono();
  app.use(localOnly(hosts));
  app.use(
    bodyLimit({ maxSize: MAX_BODY_BYTES, onError: (c) => c.json({ error: "the body is too large" }, 413) }),
  );
  app.use(async (c, next) => {
    // A bot can still fetch the events that are in it.
    if (c.req.method === "POST" && !c.req.path.startsWith("/events") && chat.isFull)
      return c.json({ error: "the service is full: start it anew" }, 507);
    await next();
    return undefined;
  });
  app.onError((error, c) => {
    if (error instanceof HTTPException) return c.json({ error: error.message }, error.status);
    return c.json({ error: errorMessage(error) }, 500);
  });
  app.route("/", peopleRoutes(chat, faults, shutdown));
  app.route("/", botRoutes(chat, faults, shutdown));
  return app;
}

/**
 * The JSON body of a request.
 * @throws HTTPException (415, 400) that says what is wrong with it
 */
async function readBody<Schema extends z.ZodType>(c: Context, schema: Schema): Promise<z.output<Schema>> {
  // A browser sends other types for any page without a preflight request.
  if (!/^application\/json[ \t]*(?:;|$)/i.test(c.req.header("content-type") ?? "")) {
    throw new HTTPException(415, { message: "a body needs the header content-type: application/json" });
  }
  let value: unknown;
  try {
    value = await c.req.json();
  } catch (error) {
    throw new HTTPException(400, { message: "the body is not JSON", cause: error });
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const why = result.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`).join("; ");
  throw new HTTPException(400, { message: why });
}

/** The faults that were asked for, in that order. */
class FaultScript {
  readonly #faults: { readonly fault: Fault; left: number }[] = [];

  add(fault: Fault): void {
    this.#faults.push({ fault, left: fault.times });
  }

  clear(): void {
    this.#faults.length = 0;
  }

  /** Uses up one occurrence of the first fault of this operation. @returns null: there is none */
  take(operation: Fault["operation"]): Fault | null {
    const index = this.#faults.findIndex(({ fault }) => fault.operation === operation);
    const next = this.#faults[index];
    if (next === undefined) return null;
    next.left -= 1;
    if (next.left === 0) this.#faults.splice(index, 1);
    return next.fault;
  }
}

const MAX_KEY_LENGTH = 500;

type Env = { Bindings: HttpBindings };
/** The effect of a call of the bot's. */
type Spoken = Pick<JournalLine, "id" | "outcome"> & { readonly status: 200 | 201 | 404 };

/** Routes for the bot: fetch events, send, revise, answer commands. Faults happen here. */
function botRoutes(chat: LoopbackChat, faults: FaultScript, shutdown: AbortSignal): Hono<Env> {
  const app = new Hono<Env>();
  /** Sends or revises a text, unless a fault prevents it, and writes a line of the journal. */
  const speak = async (
    c: Context<Env>,
    operation: JournalLine["operation"],
    idempotencyKey: string | null,
    work: (channel: string, body: Reply) => Spoken,
  ): Promise<Response> => {
    const channel = c.req.param("channel") ?? "";
    const body = await readBody(c, reply);
    const fault = faults.take(operation);
    const { text, final, inReplyTo } = body;
    const record = (id: string | null, outcome: string): void =>
      chat.record({ operation, channel, idempotencyKey, text, final, inReplyTo, id, outcome });
    if (fault !== null && isRefusal(fault)) record(null, fault.fault);
    return await withFault(c, fault, shutdown, () => {
      const { id, outcome, status } = work(channel, body);
      record(id, id === null ? outcome : (fault?.fault ?? outcome));
      return id === null ? c.json({ error: outcome }, status) : c.json({ id }, status);
    });
  };
  app.post("/events", async (c) => {
    const request = await readBody(c, eventRequest);
    return await withFault(c, faults.take("events"), shutdown, async () =>
      c.json(await chat.events.take(request, AbortSignal.any([shutdown, c.req.raw.signal]))),
    );
  });
  app.post("/events/durable", async (c) => {
    chat.events.acknowledge(await readBody(c, durablePost));
    return c.json({});
  });
  app.post("/channels/:channel/replies", async (c) => {
    const key = c.req.header("Idempotency-Key");
    if (key === undefined || key.length > MAX_KEY_LENGTH)
      return c.json({ error: "an Idempotency-Key is needed" }, 400);
    return await speak(c, "send", key, (channel, body) => {
      const { id, isRepeated } = chat.send(channel, key, body);
      return isRepeated ? { id, outcome: "repeated", status: 200 } : { id, outcome: "sent", status: 201 };
    });
  });
  app.patch("/channels/:channel/replies/:id", async (c) =>
    speak(c, "edit", null, (channel, body) => {
      const id = chat.revise(channel, c.req.param("id"), body)?.id ?? null;
      return id === null
        ? { id, outcome: "no such message", status: 404 }
        : { id, outcome: "edited", status: 200 };
    }),
  );
  app.post("/commands/:id/answer", async (c) =>
    chat.answerCommand(c.req.param("id"), await readBody(c, commandAnswer))
      ? c.json({})
      : c.json({ error: "no such command" }, 404),
  );
  return app;
}

/** The call has no effect. */
function isRefusal(fault: Fault): boolean {
  return fault.fault !== "slow" && fault.fault !== "reset_after";
}

/** Does the work with the fault. */
async function withFault(
  c: Context<Env>,
  fault: Fault | null,
  shutdown: AbortSignal,
  work: () => Response | Promise<Response>,
): Promise<Response> {
  if (fault === null) return await work();
  switch (fault.fault) {
    case "slow":
      await pause(fault.delayMs, shutdown);
      return await work();
    case "reset_before":
      return destroySocket(c);
    case "reset_after":
      await work();
      return destroySocket(c);
    case "status":
      return Response.json({ error: "a fault was asked for" }, { status: fault.status });
    case "gone":
      return c.json({ error: "gone" }, 410);
    case "retry_after":
      c.header("Retry-After", String(fault.delayMs / 1000));
      return c.json({ error: "too many requests" }, 429);
    default:
      return unreachable(fault.fault);
  }
}

function destroySocket(c: Context<Env>): Response {
  c.env.incoming.socket.destroy();
  return RESPONSE_ALREADY_SENT;
}

/** Routes for people, scripts and tests: say, edit, delete, give commands, read, and arrange faults. */
function peopleRoutes(chat: LoopbackChat, faults: FaultScript, shutdown: AbortSignal): Hono {
  const app = new Hono();
  app.post("/channels/:channel/messages", async (c) => {
    const said = chat.say(c.req.param("channel"), await readBody(c, messagePost));
    return c.json({ id: said.id }, 201);
  });
  app.patch("/channels/:channel/messages/:id", async (c) => {
    const { text } = await readBody(c, messagePatch);
    return changed(c, chat.edit(c.req.param("channel"), c.req.param("id"), text));
  });
  app.delete("/channels/:channel/messages/:id", (c) =>
    changed(c, chat.delete(c.req.param("channel"), c.req.param("id"))),
  );
  app.get("/channels/:channel", (c) => c.json({ messages: chat.conversation(c.req.param("channel")) }));

  app.post("/channels/:channel/commands", async (c) => {
    const id = chat.command(c.req.param("channel"), await readBody(c, commandPost));
    return c.json({ id }, 201);
  });
  // Answers once the command was answered, or after `waitMs` with null.
  app.get("/commands/:id", async (c) => {
    const until = Date.now() + waitOf(c.req.query("waitMs"));
    const signal = AbortSignal.any([shutdown, c.req.raw.signal]);
    let answer = chat.commandAnswer(c.req.param("id"));
    while (answer === null && Date.now() < until && !signal.aborted) {
      await chat.nextAnswer(until - Date.now(), signal);
      answer = chat.commandAnswer(c.req.param("id"));
    }
    if (answer === undefined) return c.json({ error: "no such command" }, 404);
    const { text = null, card } = answer ?? {};
    return c.json({ answer: text, ...(card !== undefined && { card }) });
  });

  app.get("/journal", (c) => c.json({ calls: chat.journal }));
  app.post("/faults", async (c) => {
    faults.add(await readBody(c, faultPost));
    return c.json({}, 201);
  });
  app.delete("/faults", (c) => {
    faults.clear();
    return c.json({});
  });
  return app;
}

function changed(c: Context, message: ChatMessage | null): Response {
  return message === null ? c.json({ error: "no such message" }, 404) : c.json({ id: message.id });
}

/** Milliseconds of `?waitMs=`; 0 where it is missing or no number. */
function waitOf(query: string | undefined): number {
  return z.coerce.number().min(0).max(MAX_WAIT_MS).catch(0).parse(query);
}
