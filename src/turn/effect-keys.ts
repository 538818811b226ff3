import { createHash } from "node:crypto";
import type { ToolCall } from "../core/entry.ts";
import type { History, TurnRange } from "../core/history.ts";
import { canonicalArguments } from "../tools/canonical-arguments.ts";
import { madeCalls } from "./tool-calls.ts";

/**
 * A key for the effect of each of these calls, for servers that run a call with a known key only once. A turn that runs
 * again gets the same keys for the same calls. A model chooses new ids each time and may change the order, so a key
 * depends on the turn, the tool, its arguments, and the number of equal calls before. Calls that the log has count as
 * made, and are not run again.
 * @param channel an opaque key of the channel
 */
export function effectKeys(
  calls: readonly ToolCall[],
  parts: { readonly channel: string; readonly turn: TurnRange; readonly history: History },
): string[] {
  const { channel, turn, history } = parts;
  // Two databases use the same turn numbers; the time of the first message tells them apart.
  const begun = history.entries.find(({ seq }) => seq >= turn.fromSeq)?.at.getTime() ?? 0;
  return keysBehind(madeCalls(history, turn), calls, `${channel}\n${turn.id}\n${begun}`);
}

/** The same for calls with another owner than a turn. @param made the owner's earlier calls */
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

/** Equal for the same arguments in another order or with other spaces. */
function canonical(json: string): string {
  try {
    return canonicalArguments(json);
  } catch {
    // Not JSON: such a call fails before it has an effect.
    return json;
  }
}
