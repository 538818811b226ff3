import { createHash } from "node:crypto";
import type { ToolCall } from "../core/entry.ts";
import type { History, TurnRange } from "../core/history.ts";
import { canonicalArguments } from "../tools/canonical-arguments.ts";
import { madeCalls } from "./tool-calls.ts";

/**
 * A key for what each of these calls does: the same where a turn that runs again asks for the same again, so that a server that
 * takes keys does it once. A model gives other ids each time, and may ask in another order: so it is the turn, the tool, its
 * arguments, and how many calls just like it the turn has made before. What the log has of the turn counts, and is not run again.
 * @param channel an opaque key of the channel
 */
export function effectKeys(
  calls: readonly ToolCall[],
  {
    channel,
    turn,
    history,
  }: { readonly channel: string; readonly turn: TurnRange; readonly history: History },
): string[] {
  // Two databases number their turns alike; when a message was said tells them apart.
  const begun = history.entries.find(({ seq }) => seq >= turn.fromSeq)?.at.getTime() ?? 0;
  return keysBehind(madeCalls(history, turn), calls, `${channel}\n${turn.id}\n${begun}`);
}

/**
 * The same for calls of whatever has a name of its own.
 * @param made what it has called before
 */
export function keysBehind(made: readonly ToolCall[], calls: readonly ToolCall[], whose: string): string[] {
  const times = new Map<string, number>();
  const count = (call: ToolCall): string => {
    const what = `${call.name}\n${canonical(call.arguments)}`;
    const time = times.get(what) ?? 0;
    times.set(what, time + 1);
    return `${what}\n${time}`;
  };
  made.forEach(count);
  return calls.map((call) =>
    createHash("sha256")
      .update(`${whose}\n${count(call)}`)
      .digest("hex")
      .slice(0, 32),
  );
}

/** The same arguments in another order, or with other spaces, are the same. */
function canonical(json: string): string {
  try {
    return canonicalArguments(json);
  } catch {
    // No JSON: such a call fails before it does anything.
    return json;
  }
}
