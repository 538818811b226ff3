import { isDeepStrictEqual } from "node:util";
import type { History } from "../../../src/core/history.ts";

/** In what the fold of the rows and the history in memory differ: nothing, whatever has happened. */
export function differences(rows: History, inMemory: History): string[] {
  const remembered = new Map<string, unknown>(Object.entries(inMemory));
  return Object.entries(rows).flatMap(([key, value]) => {
    const other = remembered.get(key);
    return isDeepStrictEqual(value, other) ? [] : [firstDifference(key, value, other)];
  });
}

function firstDifference(key: string, rows: unknown, memory: unknown): string {
  if (!Array.isArray(rows) || !Array.isArray(memory))
    return `${key}: rows ${JSON.stringify(rows)}, memory ${JSON.stringify(memory)}`;
  const index = rows.findIndex((row, place) => !isDeepStrictEqual(row, memory[place]));
  return (
    `${key}: ${rows.length} in the rows, ${memory.length} in memory; at ${index} ` +
    `rows ${JSON.stringify(rows[index])?.slice(0, 300)}, memory ${JSON.stringify(memory[index])?.slice(0, 300)}`
  );
}
