import { z } from "zod";
import { errorMessage, isMissingFile, OperatorError } from "../../core/errors.ts";
import type { InboundMessage } from "../../core/message.ts";
import { LONG, readText } from "../../files/read-file.ts";
import { PLATFORM_NAME } from "../../platforms/terminal/intake.ts";
import { ZONED_TIME } from "../../text/time.ts";

export interface Recording {
  readonly messages: readonly InboundMessage[];
  /** Empty lines. */
  readonly skipped: number;
}

const Line = z.object({
  conversation_id: z.string().min(1),
  author: z.string().min(1),
  ts: z.iso.datetime({ offset: true, message: ZONED_TIME }),
  text: z.string(),
  seq: z.union([z.number(), z.string()]).optional(),
});

/**
 * Reads a JSON Lines file of `{conversation_id, author, ts, text}`; other keys are ignored.
 * @param options.channel one channel for all conversations; by default each has its own
 * @param options.replyEvery every N-th message of a channel asks for a reply; 0: no message does
 * @throws OperatorError that names the line
 */
export function readRecording(
  file: string,
  options: { channel: string | undefined; replyEvery: number },
): Recording {
  const messages: InboundMessage[] = [];
  const counts = new Map<string, number>();
  let skipped = 0;
  for (const [index, text] of readLines(file).entries()) {
    if (text.trim() === "") {
      skipped++;
      continue;
    }
    const line = parseLine(text, `${file}:${index + 1}`);
    const name = options.channel ?? line.conversation_id;
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    messages.push({
      type: "message",
      channel: { platform: PLATFORM_NAME, name },
      kind: "channel",
      workspace: "",
      id: `${line.conversation_id}/${line.seq ?? index}`,
      author: { id: line.author, name: line.author, isBot: false },
      text: line.text,
      at: new Date(line.ts),
      addressed: options.replyEvery > 0 && count % options.replyEvery === 0,
    });
  }
  return { messages, skipped };
}

function readLines(file: string): string[] {
  try {
    const lines = readText(file, LONG)
      .replace(/^\uFEFF/, "")
      .split("\n");
    // The last line break ends a line and does not begin one.
    return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
  } catch (cause) {
    const why = isMissingFile(cause) ? `there is no file ${file}.` : errorMessage(cause);
    throw new OperatorError(`The recording cannot be read: ${why}`, { cause });
  }
}

function parseLine(text: string, where: string): z.infer<typeof Line> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new OperatorError(`${where}: not JSON. Expected {"conversation_id","author","ts","text"}.`, {
      cause,
    });
  }
  const parsed = Line.safeParse(value);
  if (!parsed.success) throw new OperatorError(`${where}: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}
