import { fork } from "node:child_process";
import { once } from "node:events";
import path from "node:path";

/** `failing`: half of the requests; `refusing`: 429 for all; `silent`: nobody gets a word before they hang up. */
export type Mood = "well" | "failing" | "refusing" | "slow" | "silent";

export interface SoakModel extends AsyncDisposable {
  readonly url: string;
  /** Until another one is set. */
  setMood(mood: Mood): void;
}

export async function startSoakModel(seed: number): Promise<SoakModel> {
  const child = fork(path.join(import.meta.dirname, "model-process.ts"), [String(seed)], { execArgv: [] });
  const [url] = await once(child, "message");
  return {
    url: String(url),
    setMood: (mood) => void child.send(mood),
    async [Symbol.asyncDispose]() {
      const ended = once(child, "exit");
      child.disconnect();
      await ended;
    },
  };
}
