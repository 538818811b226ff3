import { jsonOf } from "../../../core/json.ts";
import { z } from "zod";
import type { CommandForm, PlatformCommand } from "../../platform.ts";
import { type CalledCommand, carried, commandOfPress, withWords } from "../../shared/pressed-command.ts";
import type { FormSubmission } from "../inbound/payload.ts";

/** Where a form was opened; Slack says it of no form that is sent. */
const place = z.object({ channel: z.string(), threadTs: z.string().nullable(), url: z.string() });
type FormPlace = z.infer<typeof place>;

/** A form as Slack's modal. Its id carries the command, as a button does, and its metadata the place for the answer. Pure. */
export function toView(
  { name: command, argument }: CalledCommand,
  { title, label, maxLength }: CommandForm,
  { channel, threadTs, url }: FormPlace,
): object {
  return {
    type: "modal",
    callback_id: carried({ command, argument }),
    private_metadata: JSON.stringify({ channel, threadTs, url }),
    title: plain(title),
    submit: plain("Send"),
    close: plain("Cancel"),
    blocks: [
      {
        type: "input",
        block_id: "words",
        label: plain(label),
        element: { type: "plain_text_input", action_id: "words", multiline: true, max_length: maxLength },
      },
    ],
  };
}

/** The command of a form with its words, and where it was opened; null: it is none of ours. Pure. */
export function commandOfForm(
  { view }: FormSubmission,
  commands: readonly PlatformCommand[],
): { readonly called: CalledCommand; readonly place: FormPlace } | null {
  const called = commandOfPress(view.callback_id, commands);
  const where = place.safeParse(jsonOf(view.private_metadata));
  if (called === null || !where.success) return null;
  return { called: withWords(called, view.state.values["words"]?.["words"]?.value ?? ""), place: where.data };
}

function plain(text: string): object {
  return { type: "plain_text", text, emoji: false };
}
