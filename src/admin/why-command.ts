import type { Entry } from "../core/entry.ts";
import type { MemoryId, Seq } from "../core/ids.ts";
import { type AskedCommand, askingChannel, type CommandParts } from "./command-parts.ts";
import { formatWhy, type RecalledEntry } from "./why-format.ts";

/** Found entries that are looked up; a turn may have searched often. */
const MAX_RECALLED = 50;

/** `/why`: what the last answer was made of, as the log has it now; by the same filter as recall. */
export async function why(parts: CommandParts, { channel }: AskedCommand): Promise<string> {
  const { store, agentOf } = parts;
  const answer = await store.answers.last(channel.id);
  if (answer === null) return "I have not answered anything here yet.";
  const entries = await store.log.readAt(channel.id, answer.seqs);
  const recalled = recalledBy(entries, answer.recalled);
  const [earlier, memories] = await Promise.all([
    store.log.readAt(channel.id, recalled.entries),
    store.memories.visible(askingChannel(parts, channel), recalled.memories),
  ]);
  return formatWhy(
    {
      ...answer,
      asked: entries.filter((entry) => entry.kind === "user"),
      tools: entries.flatMap((entry) =>
        entry.kind === "tool_call" ? entry.calls.map(({ name }) => name) : [],
      ),
      memories,
      forgotten: recalled.memories.length - memories.length,
      earlier: earlier.flatMap((entry): RecalledEntry[] =>
        entry.kind === "user" || entry.kind === "assistant" ? [entry] : [],
      ),
    },
    agentOf(channel),
  );
}

/** What was found before its model was asked, and what its tools found; each once. */
function recalledBy(
  entries: readonly Entry[],
  first: { readonly entries: readonly Seq[]; readonly memories: readonly MemoryId[] },
): { entries: Seq[]; memories: MemoryId[] } {
  const results = entries.flatMap((entry) => (entry.kind === "tool_result" ? [entry] : []));
  const seqs = results.flatMap(({ references }) => references.map(({ seq }) => seq));
  const ids = results.flatMap(({ memories }) => memories.map(({ id }) => id));
  return {
    entries: [...new Set([...first.entries, ...seqs])].slice(0, MAX_RECALLED),
    memories: [...new Set([...first.memories, ...ids])].slice(0, MAX_RECALLED),
  };
}
