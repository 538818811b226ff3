import { OpenAI } from "openai";
import type { Database } from "../../src/store/database/database.ts";

/** The scripted model, under a name of its own: what it serves is told apart. */
export const BARE_MODEL = "reply-0-8+bare";
/** What its first row holds, and what it asks the model; the second holds the answer. */
const TEXT = "x".repeat(200);
/** Bytes of a request beside its text. */
const ENVELOPE = 120;

/**
 * The least that a turn can be: a durable row, one request by the `openai` client whose answer is read from its stream,
 * and another durable row. No recall, no context, no index, no acknowledgement: what is left of a turn where nothing is
 * remembered. Beside it, in the same run, one sees how much of a turn is the machine's.
 * @param bytesOfRequest of a turn's request: the bare one sends as many
 */
export async function createBareTurn(
  database: Database,
  modelUrl: string,
  bytesOfRequest: () => number,
): Promise<() => Promise<void>> {
  await database.script(
    "create table if not exists bench_turns (id bigint generated always as identity primary key, text text)",
  );
  const insert = { name: "bench_turn", text: "insert into bench_turns (text) values ($1)" };
  const client = new OpenAI({ baseURL: modelUrl, apiKey: "none", maxRetries: 0 });
  let content = TEXT;
  return async () => {
    const missing = bytesOfRequest() - content.length - ENVELOPE;
    // A request grows turn by turn: its text is made anew only now and then.
    if (Math.abs(missing) > 1000) content = "x".repeat(Math.max(TEXT.length, content.length + missing));
    await database.query(insert, [TEXT]);
    const stream = await client.chat.completions.create({
      model: BARE_MODEL,
      messages: [{ role: "user", content }],
      stream: true,
    });
    let text = "";
    for await (const { choices } of stream) text += choices[0]?.delta.content ?? "";
    await database.query(insert, [text]);
  };
}
