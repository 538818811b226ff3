import { join } from "node:path";
import { z } from "zod";
import { TestProcess } from "../process.ts";

const said = z.object({
  event: z.enum(["started", "gained", "handedOn", "lost", "woken", "owns", "left"]),
  /** ms since 1970, by a clock that all processes share. */
  at: z.number(),
  partitions: z.array(z.int()).default([]),
});

/** A line of {@link MemberProcess}. */
export type Said = z.output<typeof said>;

/** A daemon's side of a cluster in its own process. */
export class MemberProcess extends TestProcess {
  readonly #read: Said[] = [];

  constructor(url: string, prefix: string, name: string) {
    const script = join(import.meta.dirname, "homes-process.ts");
    const { env } = process;
    super(process.execPath, [script, url, prefix, name], { cwd: import.meta.dirname, env });
  }

  /** All lines so far. */
  get said(): readonly Said[] {
    for (const line of this.out.slice(this.#read.length)) this.#read.push(said.parse(JSON.parse(line)));
    return this.#read;
  }

  /** Its partitions, by its last line. */
  get owned(): readonly number[] {
    return this.said.findLast(({ event }) => event === "owns")?.partitions ?? [];
  }
}
