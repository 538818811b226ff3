/** Slack's names of 👍 and 👎: a press counts as this reaction. */
const GOOD = "+1";
const BAD = "-1";
const MARK = "weir-feedback/";

export interface Feedback {
  readonly emoji: string;
  /** The reaction that it takes the place of. */
  readonly opposite: string;
}

/** Buttons for a good and a bad answer. */
export const FEEDBACK = {
  type: "context_actions",
  elements: [
    {
      type: "feedback_buttons",
      action_id: "weir/feedback",
      positive_button: choice("👍", GOOD, "A good answer"),
      negative_button: choice("👎", BAD, "A bad answer"),
    },
  ],
};

function choice(text: string, emoji: string, label: string) {
  return { text: { type: "plain_text", text }, value: `${MARK}${emoji}`, accessibility_label: label };
}

/** The reaction that a press stands for; null: it is another button. Pure. */
export function feedbackOf(value: string): Feedback | null {
  if (value === `${MARK}${GOOD}`) return { emoji: GOOD, opposite: BAD };
  return value === `${MARK}${BAD}` ? { emoji: BAD, opposite: GOOD } : null;
}
