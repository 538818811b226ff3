import { z } from "zod";
import { storableText } from "../../../text/text.ts";
import { ZONED_TIME } from "../../../text/time.ts";

/** The commands of a script, one JSON object a line. */
export type JsonlCommand =
  | {
      readonly type: "message";
      readonly author: string;
      readonly text: string;
      /** Undefined: one is made. */
      readonly id: string | undefined;
      /** Undefined: now. */
      readonly at: Date | undefined;
      /** Undefined: the session's own channel. */
      readonly channel: string | undefined;
      readonly addressed: boolean;
    }
  | { readonly type: "edit"; readonly id: string; readonly text: string }
  | { readonly type: "delete"; readonly id: string }
  | { readonly type: "stop"; readonly channel: string };

export type ParsedLine =
  | { readonly ok: true; readonly command: JsonlCommand }
  /** `id`: the line's id, if it has one, for the script. */
  | { readonly ok: false; readonly why: string; readonly id: string | undefined };

const MAX_NAME_LENGTH = 200;

/** A name that a script gives: of a person, a channel or a message. */
export const nameSchema = z
  .string()
  .min(1)
  .max(MAX_NAME_LENGTH)
  // oxlint-disable-next-line no-control-regex -- control characters are what is refused
  .regex(/^[^\u0000-\u001f\u007f-\u009f]*$/, "must not hold control characters");
const name = nameSchema.transform(storableText);

const message = z.strictObject({
  author: name,
  text: z.string().refine((text) => text.trim() !== "", "must not be blank"),
  id: name.optional(),
  at: z.iso
    .datetime({ offset: true, message: ZONED_TIME })
    .transform((text) => new Date(text))
    .optional(),
  channel: name.optional(),
  listen: z.boolean().optional(),
});
const edit = z.strictObject({ edit: name, text: z.string() });
const deletion = z.strictObject({ delete: name });
const stop = z.strictObject({ stop: name });

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
  if ("edit" in value) {
    const result = edit.safeParse(value);
    if (!result.success) return refused(result.error, value.edit);
    return { ok: true, command: { type: "edit", id: result.data.edit, text: result.data.text } };
  }
  if ("delete" in value) {
    const result = deletion.safeParse(value);
    if (!result.success) return refused(result.error, value.delete);
    return { ok: true, command: { type: "delete", id: result.data.delete } };
  }
  if ("stop" in value) {
    const result = stop.safeParse(value);
    if (!result.success) return refused(result.error, undefined);
    return { ok: true, command: { type: "stop", channel: result.data.stop } };
  }
  const result = message.safeParse(value);
  if (!result.success) return refused(result.error, "id" in value ? value.id : undefined);
  const { author, text, id, at, channel, listen } = result.data;
  return {
    ok: true,
    command: { type: "message", author, text, id, at, channel, addressed: listen !== true },
  };
}

function refused(error: z.ZodError, id: unknown): ParsedLine {
  const why = error.issues
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
