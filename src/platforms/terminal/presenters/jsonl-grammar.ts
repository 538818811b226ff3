import { z } from "zod";
import { storableText } from "../../../text/text.ts";
import { ZONED_TIME } from "../../../text/time.ts";

const MAX_NAME_LENGTH = 200;

/** A name that a script gives: of a person, a channel or a message. */
export const nameSchema = z
  .string()
  .min(1)
  .max(MAX_NAME_LENGTH)
  // oxlint-disable-next-line no-control-regex -- control characters are what is refused
  .regex(/^[^\u0000-\u001f\u007f-\u009f]*$/, "must not hold control characters");
const name = nameSchema.transform(storableText);

const message = z
  .strictObject({
    author: name,
    text: z.string().refine((text) => text.trim() !== "", "must not be blank"),
    /** Default: one is made. */
    id: name.optional(),
    /** Default: now. */
    at: z.iso
      .datetime({ offset: true, message: ZONED_TIME })
      .transform((text) => new Date(text))
      .optional(),
    /** Default: the session's own channel. */
    channel: name.optional(),
    listen: z.boolean().optional(),
  })
  .transform(({ author, text, id, at, channel, listen }) => {
    return { type: "message" as const, author, text, id, at, channel, addressed: listen !== true };
  });
const edit = z
  .strictObject({ edit: name, text: z.string() })
  .transform(({ edit: id, text }) => ({ type: "edit" as const, id, text }));
const deletion = z
  .strictObject({ delete: name })
  .transform(({ delete: id }) => ({ type: "delete" as const, id }));
const stop = z
  .strictObject({ stop: name })
  .transform(({ stop: channel }) => ({ type: "stop" as const, channel }));

/** The commands of a script, one JSON object a line. */
export type JsonlCommand = z.output<typeof message | typeof edit | typeof deletion | typeof stop>;

type ParsedLine =
  | { readonly ok: true; readonly command: JsonlCommand }
  /** `id`: the line's id, if it has one, for the script. */
  | { readonly ok: false; readonly why: string; readonly id: string | undefined };

/** Reads one line of `weir chat --jsonl`. Never throws: an error of a line is a value. */
export function parseJsonlLine(line: string): ParsedLine {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    // JSON.parse quotes the text it fails on: one short line of it is enough.
    return {
      ok: false,
      why: `not JSON: ${oneLine(error instanceof Error ? error.message : "")}`,
      id: undefined,
    };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return { ok: false, why: "not a JSON object", id: undefined };
  }
  return parseObject(value);
}

function parseObject(value: object): ParsedLine {
  if ("edit" in value) return parseAs(edit, value, value.edit);
  if ("delete" in value) return parseAs(deletion, value, value.delete);
  if ("stop" in value) return parseAs(stop, value, undefined);
  return parseAs(message, value, "id" in value ? value.id : undefined);
}

function parseAs(schema: z.ZodType<JsonlCommand>, value: object, id: unknown): ParsedLine {
  const result = schema.safeParse(value);
  if (result.success) return { ok: true, command: result.data };
  const why = result.error.issues
    .map((issue) => (issue.path.length === 0 ? issue.message : `${issue.path.join(".")}: ${issue.message}`))
    .join("; ");
  return {
    ok: false,
    why: oneLine(why),
    id: typeof id === "string" ? id.slice(0, MAX_NAME_LENGTH) : undefined,
  };
}

function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length <= 300 ? line : `${line.slice(0, 299)}…`;
}
