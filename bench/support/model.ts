import { fork } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import type { CacheUse } from "../../test/support/provider-caches.ts";

/** One request at the server; times in ms by `machineNow`. */
export interface ServedRequest {
  readonly model: string;
  /** When its first bytes arrived. */
  readonly arrivedAt: number;
  /** When the last byte of the answer was written; 0: never. */
  readonly endedAt: number;
  readonly bytes: number;
  readonly completionTokens: number;
  /** Bytes of the prompt, and the number of them that it shares with the previous prompt's beginning. */
  readonly prefix: PromptPrefix | null;
  /** Its bill by a provider with the cache in the model's name, and by one that sets its own mark at the latest message. */
  readonly billed: { readonly use: CacheUse; readonly implicit: CacheUse } | null;
  /** Of a billed request: the numbers N of each `mark-N` in it. */
  readonly marks: readonly number[];
}

export interface PromptPrefix {
  readonly shared: number;
  readonly total: number;
  /** It states that older messages were left out. */
  readonly hasHole: boolean;
}

export interface BenchModel extends AsyncDisposable {
  readonly url: string;
  /** Requests served since the last call, oldest first. */
  served(): Promise<ServedRequest[]>;
}

export async function startBenchModel(): Promise<BenchModel> {
  const child = fork(path.join(import.meta.dirname, "model-process.ts"), { execArgv: [] });
  const [url] = await once(child, "message");
  return {
    url: String(url),
    async served() {
      child.send("report");
      const [served] = await once(child, "message");
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it is our own process
      return served as ServedRequest[];
    },
    async [Symbol.asyncDispose]() {
      const ended = once(child, "exit");
      child.disconnect();
      await ended;
    },
  };
}
