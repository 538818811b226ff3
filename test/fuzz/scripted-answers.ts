import { ModelError, type ModelAnswer, type ModelRequest } from "../../src/llm/model.ts";
import { MODEL } from "./profile.ts";
import type { Prompt } from "./prompt.ts";
import { Random } from "./random.ts";
import type { Reply } from "./schedule.ts";
import { callFor, callOf, lookUps } from "./scripted-calls.ts";
import { words } from "./texts.ts";

type Said = Pick<ModelAnswer, "text" | "calls" | "finish">;

/** Rounds of calls before it answers. */
const ROUNDS = 2;

/** What the model answers; it repeats what people said in the arguments of its calls alone. */
export function talk(reply: Reply, request: ModelRequest, prompt: Prompt, n: number): Said {
  const random = new Random(n * 31 + 7);
  const rounds = prompt.newest.filter(({ role }) => role === "tool").length;
  if (reply === "fail") throw new ModelError("rejected", MODEL, "scripted");
  // Begun again, it may have nothing to say to what it began to answer before.
  const isSkipped = reply === "skip" || (reply === "slow" && random.chance(0.4));
  if (request.toolChoice === "auto" && isSkipped) {
    // Beside a call that fails it does not count, and the model is asked again.
    const beside = rounds < ROUNDS && random.chance(0.4) ? lookUps(random, n, prompt) : [];
    const skip = callOf("skip", { reason: "nothing to say" }, 0);
    return { text: "", calls: [...beside, skip], finish: "tool_calls" };
  }
  const isLooking = reply === "tools" || reply === "tools_slow";
  if (request.toolChoice === "auto" && isLooking && rounds < ROUNDS) {
    return {
      text: random.chance(0.5) ? "" : "Let me look.",
      calls: lookUps(random, n, prompt),
      finish: "tool_calls",
    };
  }
  const called = request.toolChoice === "auto" ? callFor(reply, prompt, random, n) : null;
  if (called !== null) return called;
  const length = reply === "long" ? random.int(50, 110) : random.int(5, 25);
  return { text: `answer ${n}: ${words(random, length)}`, calls: [], finish: "stop" };
}
