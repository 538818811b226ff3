import { OpenAI } from "openai";
import type { Database } from "../../src/store/database/database.ts";

/** The scripted model under a separate name, so that its requests can be told apart. */
export const BARE_MODEL = "reply-0-8+bare";
/** The text of the first row and of the request; the second row has the answer. */
const TEXT = "x".repeat(200);
/** Bytes of a request besides its text. */
const ENVELOPE = 120;

/**
 * The smallest possible turn: a durable row, one streamed request by the `openai` client, and another durable row,
 * without recall, context, index and acknowledgement. Measured in the same run, it shows the machine's share of a turn.
 * @param bytesOfRequest size of a turn's request, which the bare one copies
 */
export async function createBareTurn(
  database: Database,
  modelUrl: string,
  bytesOfRequest: () => number,
): Promise<() => Promise<void>> {
  await database.script(
    "create table if not exists bench_turns (id bigint generated always as identity primary key, text text)",
  );
  const insert = "insert into bench_turns (text) values ($1)";
  const client = new OpenAI({ baseURL: modelUrl, apiKey: "none", maxRetries: 0 });
  let content = TEXT;
  return async () => {
    const missing = bytesOfRequest() - content.length - ENVELOPE;
    // Requests grow turn by turn: the text is adjusted now and then.
    if (Math.abs(missing) > 1000) content = "x".repeat(Math.max(TEXT.length, content.length + missing));
    await database.query("bench_turn", insert, [TEXT]);
    const stream = await client.chat.completions.create({
      model: BARE_MODEL,
      messages: [{ role: "user", content }],
      stream: true,
    });
    let text = "";
    for await (const { choices } of stream) text += choices[0]?.delta.content ?? "";
    await database.query("bench_turn", insert, [text]);
  };
}
