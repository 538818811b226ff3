import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import type { Problem } from "./log-checks.ts";
import { CHANNELS, type People, type Said } from "./people.ts";
import type { Sql } from "./sql.ts";

const PIPE_MS = 1000;

const conversation = z.object({
  messages: z.array(
    z.object({
      id: z.string(),
      from: z.enum(["person", "bot"]),
      text: z.string(),
      reply: z.object({ final: z.boolean(), inReplyTo: z.array(z.string()) }).optional(),
    }),
  ),
});

interface SentAnswer {
  readonly message_id: string;
  readonly text: string;
}

/** What people see once everything is delivered: each message answered, once where the platform can tell. */
export async function deliveryProblems(people: People, sql: Sql, serviceUrl: string): Promise<Problem[]> {
  const found: Problem[] = [];
  const sent = new Map(
    (
      await sql.rows<SentAnswer>(
        `select d.message_id, e.text from deliveries d join entries e on e.channel_id = d.channel_id and e.seq = d.entry_seq
          where d.state = 'sent'`,
      )
    ).map((row) => [row.message_id, row.text]),
  );
  for (const channel of CHANNELS) {
    const { messages } = conversation.parse(await (await fetch(`${serviceUrl}/channels/${channel}`)).json());
    const answers = messages.filter(({ from }) => from === "bot");
    const counts = new Map<string, number>();
    for (const { id, text, reply } of answers) {
      if (reply?.final !== true)
        found.push({ kind: "lost", what: `half an answer is left in ${channel}: ${text}` });
      if (sent.get(id) !== text) {
        found.push({ kind: "wrong", what: `${channel} shows "${text}", the log has "${sent.get(id)}"` });
      }
      for (const one of reply?.inReplyTo ?? []) counts.set(one, (counts.get(one) ?? 0) + 1);
    }
    for (const one of people.said.values()) {
      if (one.platform !== "loopback" || one.channel !== channel || !one.addressed) continue;
      const times = counts.get(one.id) ?? 0;
      if (times === 1) continue;
      found.push({
        kind: times === 0 ? "lost" : "doubled",
        what: `${one.id} was answered ${times} times in ${channel}`,
      });
    }
  }
  for (const { id } of await unanswered(people)) {
    found.push({ kind: "lost", what: `${id} was answered to nobody in the terminal` });
  }
  return found;
}

/** What was written may not have come through the pipe yet. */
async function unanswered(people: People): Promise<Said[]> {
  const deadline = performance.now() + PIPE_MS;
  for (;;) {
    people.listen();
    const left = [...people.said.values()].filter(
      (one) => one.platform === "terminal" && one.addressed && one.answeredBy.length === 0,
    );
    if (left.length === 0 || performance.now() > deadline) return left;
    await delay(20);
  }
}
