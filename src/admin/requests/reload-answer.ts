import { z } from "zod";

/** What a reload has come to, by keys as the file has them. No value is told. */
const reloadAnswer = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("reloaded"),
    /** What is in force from now on; empty: nothing has changed. */
    live: z.array(z.string()),
    /** Templates have changed, or what there is of agents' folders. */
    prompts: z.boolean(),
    /** What is in the file and takes effect at the next start. */
    atStart: z.array(z.string()),
    /** In a cluster, who has done it: the others read their own files. */
    daemon: z.string().optional(),
  }),
  /** What was read before stays in force. */
  z.object({ kind: z.literal("refused"), problems: z.string() }),
]);

export type ReloadAnswer = z.output<typeof reloadAnswer>;

/** @returns undefined: a daemon of another version has written it */
export function parseReloadAnswer(value: unknown): ReloadAnswer | undefined {
  return reloadAnswer.safeParse(value).data;
}

/** What has changed, for a person. Pure. */
export function formatReloaded({
  live,
  prompts,
  atStart,
}: Extract<ReloadAnswer, { kind: "reloaded" }>): string {
  const changed = [...live, ...(prompts ? ["templates, or the agents' folders"] : [])];
  return [
    changed.length === 0 ? "Nothing has changed." : `Reloaded: ${changed.join(", ")}`,
    ...(atStart.length === 0 ? [] : [`Takes effect at the next start: ${atStart.join(", ")}`]),
  ].join("\n");
}
