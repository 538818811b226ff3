import { type APIModalInteractionResponseCallbackData, ComponentType, TextInputStyle } from "discord.js";
import type { CommandForm } from "../../platform.ts";
import { type CalledCommand, carried } from "../../shared/pressed-command.ts";

/** A form as Discord's modal. Its id carries the command, as a button does. Pure. */
export function toModal(
  { name: command, argument }: CalledCommand,
  { title, label, maxLength }: CommandForm,
): APIModalInteractionResponseCallbackData {
  const text = {
    type: ComponentType.TextInput,
    custom_id: "words",
    style: TextInputStyle.Paragraph,
    required: true,
    max_length: maxLength,
  } as const;
  return {
    custom_id: carried({ command, argument }).slice(0, 100),
    title,
    components: [{ type: ComponentType.Label, label, component: text }],
  };
}
