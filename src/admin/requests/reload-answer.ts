import { z } from "zod";
import { formatSpan } from "../../text/format.ts";

const changes = {
  /** Changed keys that are active from now on; empty: no changes. */
  live: z.array(z.string()),
  /** Templates have changed, or the files in agents' folders. */
  prompts: z.boolean(),
};

/** The outcome of a reload, by keys as the file has them, without values. */
export const reloadAnswer = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("reloaded"),
    ...changes,
    /** Where nothing has changed: the last reload that changed something. A file that is saved is reloaded by itself. */
    last: z.object({ ...changes, agoMs: z.number() }).optional(),
    /** Changed keys that take effect at the next start. */
    atStart: z.array(z.string()),
    /** In a cluster, the daemon that reloaded: the others read their own files. */
    daemon: z.string().optional(),
  }),
  /** The configuration that was read before stays active. */
  z.object({ kind: z.literal("refused"), problems: z.string() }),
]);

export type ReloadAnswer = z.output<typeof reloadAnswer>;
export type Reloaded = Extract<ReloadAnswer, { kind: "reloaded" }>;

/** The changes, in words for a person. Pure. */
export function formatReloaded({ last, atStart, ...changed }: Reloaded): string {
  const nothing =
    last === undefined
      ? "Nothing has changed."
      : `Nothing has changed since the reload ${formatSpan(last.agoMs)} ago, which took up: ${named(last)}`;
  return [
    named(changed) === "" ? nothing : `Reloaded: ${named(changed)}`,
    ...(atStart.length === 0 ? [] : [`Takes effect at the next start: ${atStart.join(", ")}`]),
  ].join("\n");
}

function named({ live, prompts }: Pick<Reloaded, "live" | "prompts">): string {
  return [...live, ...(prompts ? ["templates, or the agents' folders"] : [])].join(", ");
}
