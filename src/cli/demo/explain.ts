import type { WeirEvent } from "../../telemetry/events.ts";
import { formatNumber } from "../../text/format.ts";
import { counted } from "../../text/text.ts";

/**
 * Explains an event in one line to a person who sees Weir for the first time. Pure.
 * @param situation.percent how full the window is now
 * @param situation.isHealed it ends an emergency: each message is in view again, or has a summary
 * @returns null: the event needs no words
 */
export function explain(
  event: WeirEvent,
  { percent, isHealed }: { readonly percent: number; readonly isHealed: boolean },
): string | null {
  if (event.type === "emergency") {
    const { omitted } = event;
    return `${percent} %: ${omitted} old messages leave the view now, without a model; the log keeps them`;
  }
  if (event.type !== "compaction") return null;
  if (event.phase === "started") return `${percent} %: ${begun(event)}`;
  if (event.phase !== "committed") return null;
  return `${isHealed ? "healed: " : ""}${done(event)}; now ${percent} %`;
}

type Compaction = WeirEvent & { readonly type: "compaction" };

/** Nearly all entries of a range are messages. */
const lengthOf = ({ fromSeq, toSeq }: Compaction): number => toSeq - fromSeq + 1;

function begun(event: Compaction): string {
  if (event.kind === "merge") return "older summaries are being merged into one; answers go on";
  if (event.kind === "redo") return "a summary is being written again; answers go on";
  const count = lengthOf(event);
  switch (event.tier) {
    case "aggressive":
      return `room is short, ${count} messages are being summarised; answers go on`;
    case "emergency":
      return `${count} messages out of view are being summarised; answers go on`;
    default:
      return `${count} old messages are being summarised; the channel goes on answering`;
  }
}

function done(event: Compaction): string {
  const { kind, tier, tokensBefore, tokensAfter, memories } = event;
  const sizes = `${formatNumber(tokensBefore)} tokens became ${formatNumber(tokensAfter ?? 0)}`;
  if (kind === "merge") return `older summaries merged: ${sizes}`;
  if (kind === "redo") return `a summary was written again: ${sizes}`;
  const count = lengthOf(event);
  if (tier === "emergency") return `${count} messages out of view summarised, ${sizes}`;
  const kept = memories === 0 ? "" : `, ${counted(memories, "memory", "memories")} kept`;
  return `${count} messages summarised: ${sizes}${kept}`;
}
