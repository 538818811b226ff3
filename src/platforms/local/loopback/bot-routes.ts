import { pause } from "../../../async/clock.ts";
import type { HttpBindings } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { type Context, Hono } from "hono";
import { unreachable } from "../../../core/errors.ts";
import type { JournalLine, LoopbackChat } from "./chat.ts";
import type { FaultScript } from "./faults.ts";
import { commandAnswer, durablePost, eventRequest, type Fault, type Reply, reply } from "./protocol.ts";
import { readBody } from "./request-body.ts";

const MAX_KEY_LENGTH = 500;

type Env = { Bindings: HttpBindings };
/** The effect of a call of the bot's. */
type Spoken = Pick<JournalLine, "id" | "outcome"> & { readonly status: 200 | 201 | 404 };

/** Routes for the bot: fetch events, send, revise, answer commands. Faults happen here. */
export function botRoutes(chat: LoopbackChat, faults: FaultScript, shutdown: AbortSignal): Hono<Env> {
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
  app.post("/commands/:id/answer", async (c) => {
    return chat.answerCommand(c.req.param("id"), await readBody(c, commandAnswer))
      ? c.json({})
      : c.json({ error: "no such command" }, 404);
  });
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
