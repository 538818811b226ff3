/** An agent's access to a conversation that is longer than its window, by options of the configuration alone. */
export interface Condition {
  readonly name: string;
  /** Its window holds the whole conversation. */
  readonly isWhole: boolean;
  readonly summarises: boolean;
  readonly recall: "all" | "messages" | "memories" | "off";
}

export const CONDITIONS: readonly Condition[] = [
  { name: "full context", isWhole: true, summarises: false, recall: "off" },
  { name: "last N only", isWhole: false, summarises: false, recall: "off" },
  { name: "search only", isWhole: false, summarises: false, recall: "messages" },
  { name: "summaries only", isWhole: false, summarises: true, recall: "off" },
  { name: "summaries and memories", isWhole: false, summarises: true, recall: "memories" },
  { name: "all", isWhole: false, summarises: true, recall: "all" },
];

const INSTRUCTIONS =
  "Answer questions about this chat as briefly as you can: what is asked for, and nothing else. If it was never said, say that you do not know.";

/** The config.toml of a condition. @param windows in tokens: one for the whole conversation, and a smaller one */
export function configOf(
  { isWhole, summarises, recall }: Condition,
  model: string,
  windows: { readonly whole: number; readonly small: number },
): string {
  return `
[[agents]]
id = "main"
name = "Weir"
model = ${JSON.stringify(model)}
instructions = ${JSON.stringify(INSTRUCTIONS)}
context_window = ${isWhole ? windows.whole : windows.small}
max_output_tokens = 512
generation_reserve = 512
[agents.compaction]
enabled = ${summarises}
[agents.memory]
recall = "${recall}"
[agents.questions]
enabled = false
`;
}
