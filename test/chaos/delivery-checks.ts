import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { MOST_CHARACTERS, unspaced } from "./answers.ts";
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

interface SentPart {
  readonly message_id: string;
  readonly turn_id: number;
  readonly part: number;
  /** Of the whole answer. */
  readonly text: string;
}

type ShownMessage = z.output<typeof conversation>["messages"][number];

/** What people see once everything is delivered: each message answered, once where the platform can tell. */
export async function deliveryProblems(people: People, sql: Sql, serviceUrl: string): Promise<Problem[]> {
  const found: Problem[] = [];
  const sent = await sql.rows<SentPart>(
    `select d.message_id, d.turn_id, d.part, e.text from deliveries d
       join channels c on c.id = d.channel_id and c.platform = 'loopback'
       join entries e on e.channel_id = d.channel_id and e.seq = d.entry_seq where d.state = 'sent'`,
  );
  const byMessage = new Map(sent.map((row) => [row.message_id, row]));
  for (const channel of CHANNELS) {
    const answers = await botMessages(serviceUrl, channel);
    const shown = new Map<number, ShownMessage[]>();
    for (const message of answers) {
      const { id, text, reply } = message;
      if (reply?.final !== true)
        found.push({ kind: "lost", what: `half an answer is left in ${channel}: ${text}` });
      const row = byMessage.get(id);
      if (row === undefined)
        found.push({ kind: "wrong", what: `${channel} shows "${text}", and the log does not know of it` });
      // A message of nobody's answers all the same: as a turn of its own.
      const turn = row?.turn_id ?? -1 - shown.size;
      shown.set(turn, [...(shown.get(turn) ?? []), message]);
    }
    const counts = new Map<string, number>();
    for (const [turn, parts] of shown) {
      found.push(...brokenAnswer(channel, turn, parts, byMessage));
      const answered = new Set(parts.flatMap(({ reply }) => reply?.inReplyTo ?? []));
      for (const one of answered) counts.set(one, (counts.get(one) ?? 0) + 1);
    }
    for (const one of people.said.values()) {
      if (one.platform !== "loopback" || one.channel !== channel || !one.addressed) continue;
      const times = counts.get(one.id) ?? 0;
      if (times === 1) continue;
      const trace = await turnsOf(sql, one.id);
      found.push({
        kind: times === 0 ? "lost" : "doubled",
        what: `${one.id} was answered ${times} times in ${channel}; ${trace}`,
      });
    }
  }
  for (const { id } of await unanswered(people)) {
    found.push({ kind: "lost", what: `${id} was answered to nobody in the terminal` });
  }
  return found;
}

/** What the log says of a message of the service and of the turns over it, in words. */
async function turnsOf(sql: Sql, id: string): Promise<string> {
  const rows = await sql.rows<{ what: string }>(
    `select format('entry %s, addressed %s, appended %s; turn %s over %s to %s %s (%s), begun %s times, from %s to %s; parts: %s', e.seq,
              e.addressed, e.appended_at, t.id, t.from_seq, t.to_seq, t.state, t.reason, t.attempts, t.started_at, t.settled_at,
              (select string_agg(format('%s %s %s', d.part, d.state, d.message_id), ', ') from deliveries d where d.turn_id = t.id)) as what
       from entries e join channels c on c.id = e.channel_id and c.platform = 'loopback'
       left join turns t on t.channel_id = e.channel_id and e.seq between t.from_seq and t.to_seq
      where e.message_id = $1 order by t.id`,
    [id],
  );
  return rows.map(({ what }) => what).join(" | ");
}

async function botMessages(serviceUrl: string, channel: string): Promise<ShownMessage[]> {
  const { messages } = conversation.parse(await (await fetch(`${serviceUrl}/channels/${channel}`)).json());
  return messages.filter(({ from }) => from === "bot");
}

/** What the bot has said in a channel of the service, without what it is still writing. */
export async function finalTexts(serviceUrl: string, channel: string): Promise<string[]> {
  const all = await botMessages(serviceUrl, channel);
  return all.flatMap(({ text, reply }) => (reply?.final === true ? [text] : []));
}

/** Each part of an answer is there once, in order, and together they are the whole. */
function brokenAnswer(
  channel: string,
  turn: number,
  parts: readonly ShownMessage[],
  byMessage: ReadonlyMap<string, SentPart>,
): Problem[] {
  const rows = parts.flatMap(({ id }) => byMessage.get(id) ?? []);
  const [first] = rows;
  if (first === undefined) return [];
  const found: Problem[] = [];
  const numbers = rows.map(({ part }) => part);
  if (numbers.some((part, index) => part !== index)) {
    const what = `turn ${turn} is shown in ${channel} with the parts ${numbers.join(" ")}`;
    found.push({ kind: "wrong", what });
  }
  const together = parts.map(({ text }) => text).join(" ");
  if (unspaced(together) !== unspaced(first.text)) {
    found.push({ kind: "wrong", what: `${channel} shows "${together}", the log has "${first.text}"` });
  }
  if (parts.some(({ text }) => text.length > MOST_CHARACTERS))
    found.push({ kind: "wrong", what: `turn ${turn} is shown in ${channel} in too long a message` });
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
