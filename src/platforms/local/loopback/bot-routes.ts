import { pause } from "../../../async/clock.ts";
import type { HttpBindings } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { type Context, Hono } from "hono";
import type { z } from "zod";
import { unreachable } from "../../../core/errors.ts";
import type { JournalLine, LoopbackChat } from "./chat.ts";
import type { FaultScript } from "./faults.ts";
import { commandAnswer, durablePost, eventRequest, type Fault, reply } from "./protocol.ts";
import { readBody } from "./request-body.ts";

const MAX_KEY_LENGTH = 500;

type Env = { Bindings: HttpBindings };
/** What a call of the bot's did, for the journal. */
type Done = Pick<JournalLine, "id" | "outcome">;

/** What the bot does: fetch events, send, revise, answer commands. Faults happen here. */
export function botRoutes(chat: LoopbackChat, faults: FaultScript, shutdown: AbortSignal): Hono<Env> {
  const app = new Hono<Env>();
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
    const channel = c.req.param("channel");
    const key = c.req.header("Idempotency-Key");
    if (key === undefined || key.length > MAX_KEY_LENGTH)
      return c.json({ error: "an Idempotency-Key is needed" }, 400);
    const body = await readBody(c, reply);
    const fault = faults.take("send");
    const record = (done: Done): void =>
      chat.record({ operation: "send", channel, idempotencyKey: key, ...summary(body), ...done });
    if (fault !== null && isRefusal(fault)) record({ id: null, outcome: fault.fault });
    return await withFault(c, fault, shutdown, () => {
      const { id, isRepeated } = chat.send(channel, key, body);
      record({ id, outcome: fault?.fault ?? (isRepeated ? "repeated" : "sent") });
      return c.json({ id }, isRepeated ? 200 : 201);
    });
  });
  app.patch("/channels/:channel/replies/:id", async (c) => {
    const { channel, id } = c.req.param();
    const body = await readBody(c, reply);
    const fault = faults.take("edit");
    const record = (done: Done): void =>
      chat.record({ operation: "edit", channel, idempotencyKey: null, ...summary(body), ...done });
    if (fault !== null && isRefusal(fault)) record({ id: null, outcome: fault.fault });
    return await withFault(c, fault, shutdown, () => {
      const said = chat.revise(channel, id, body);
      record({
        id: said?.id ?? null,
        outcome: said === null ? "no such message" : (fault?.fault ?? "edited"),
      });
      return said === null ? c.json({ error: "no such message" }, 404) : c.json({ id });
    });
  });
  app.post("/commands/:id/answer", async (c) => {
    return chat.answerCommand(c.req.param("id"), await readBody(c, commandAnswer))
      ? c.json({})
      : c.json({ error: "no such command" }, 404);
  });
  return app;
}

function summary(body: z.output<typeof reply>): Pick<JournalLine, "text" | "final" | "inReplyTo"> {
  return { text: body.text, final: body.final, inReplyTo: body.inReplyTo };
}

/** Does the fault keep the call from having any effect? */
function isRefusal(fault: Fault): boolean {
  return fault.fault !== "slow" && fault.fault !== "reset_after";
}

/** Does the work, and lets go wrong what is to go wrong. */
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
