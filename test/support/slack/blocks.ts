import { z } from "zod";

const text = (limit: number) =>
  z.union([
    z.strictObject({
      type: z.literal("plain_text"),
      text: z.string().min(1).max(limit),
      emoji: z.boolean().optional(),
    }),
    z.strictObject({
      type: z.literal("mrkdwn"),
      text: z.string().min(1).max(limit),
      verbatim: z.boolean().optional(),
    }),
  ]);
const plainText = z.looseObject({ type: z.literal("plain_text"), text: z.string().min(1).max(150) });

const buttons = z
  .array(
    z.strictObject({
      type: z.literal("button"),
      action_id: z.string().min(1).max(255),
      text: z.looseObject({ type: z.literal("plain_text"), text: z.string().min(1).max(75) }),
      style: z.enum(["primary", "danger"]).optional(),
      value: z.string().max(2000).optional(),
    }),
  )
  .min(1)
  .max(25)
  .refine((all) => new Set(all.map((one) => one.action_id)).size === all.length);

const feedbackButton = z.strictObject({
  text: z.looseObject({ type: z.literal("plain_text"), text: z.string().min(1).max(75) }),
  value: z.string().min(1).max(2000),
  accessibility_label: z.string().max(75).optional(),
});

const feedback = z
  .array(
    z.strictObject({
      type: z.literal("feedback_buttons"),
      action_id: z.string().min(1).max(255),
      positive_button: feedbackButton,
      negative_button: feedbackButton,
    }),
  )
  .min(1)
  .max(5);

/** The blocks that Weir uses, with the limits of https://docs.slack.dev/reference/block-kit/blocks. */
const blocks = z
  .array(
    z.union([
      z.strictObject({ type: z.literal("header"), text: plainText }),
      z.strictObject({ type: z.literal("section"), text: text(3000), expand: z.boolean().optional() }),
      z.strictObject({ type: z.literal("markdown"), text: z.string().min(1).max(12_000) }),
      z.strictObject({ type: z.literal("context_actions"), elements: feedback }),
      z.strictObject({ type: z.literal("section"), fields: z.array(text(2000)).min(1).max(10) }),
      z.strictObject({ type: z.literal("actions"), elements: buttons }),
      z.strictObject({ type: z.literal("context"), elements: z.array(text(2000)).min(1).max(10) }),
    ]),
  )
  .max(50);

/** The buttons among blocks: each one's payload, by its label. */
export function buttonsOf(
  value: unknown,
): ReadonlyMap<string, { readonly id: string; readonly value: string }> {
  const parsed = blocks.safeParse(value);
  const all = parsed.success ? parsed.data : [];
  return new Map(
    all.flatMap((block) => {
      if (block.type === "actions")
        return block.elements.map(
          (one) => [one.text.text, { id: one.action_id, value: one.value ?? "" }] as const,
        );
      if (block.type !== "context_actions") return [];
      return block.elements.flatMap(({ action_id: id, positive_button: good, negative_button: bad }) =>
        [good, bad].map((one) => [one.text.text, { id, value: one.value }] as const),
      );
    }),
  );
}

/** Slack's refusal of blocks; null: it accepts them. */
export function refusalOfBlocks(value: unknown): "invalid_blocks" | "msg_blocks_too_long" | null {
  if (value === undefined) return null;
  if (!blocks.safeParse(value).success) return "invalid_blocks";
  return JSON.stringify(value).length > 13_000 ? "msg_blocks_too_long" : null;
}
