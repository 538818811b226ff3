import { type Context, Hono } from "hono";
import { z } from "zod";
import type { ChatMessage, LoopbackChat } from "./chat.ts";
import type { FaultScript } from "./faults.ts";
import { commandPost, faultPost, MAX_WAIT_MS, messagePatch, messagePost } from "./protocol.ts";
import { readBody } from "./request-body.ts";

/** Routes for people, scripts and tests: say, edit, delete, give commands, read, and arrange faults. */
export function peopleRoutes(chat: LoopbackChat, faults: FaultScript, shutdown: AbortSignal): Hono {
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
