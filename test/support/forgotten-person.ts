import assert from "node:assert/strict";
import { rowsWith } from "../store/rows-with.ts";
import { ANN, authorOf, BEN } from "./commands.ts";
import { ask, compaction, quiet, reading, type Scene, script } from "./compaction.ts";
import { BACKGROUND, fillTo } from "./full-channel.ts";
import { text, toolCalls } from "./model-behaviours.ts";
import { textsBelow } from "./texts-below.ts";
import type { TestWeir } from "./weir.ts";

/** In all of Ann's texts. */
export const OURS = "zxqann";
/** In all of Ben's texts. */
export const THEIRS = "zxqben";
export const SUMMARY = "Ann and Ben measure the river each morning; the readings are in the green book.";

/** Ann and Ben talk in the channel `busy` until a summary of it is due. */
export async function talk(scene: Scene): Promise<void> {
  await fillTo(
    scene,
    "busy",
    BACKGROUND,
    {},
    (number) => `${number % 2 === 1 ? OURS : THEIRS} ${reading(number)}`,
    (number) => authorOf(number % 2 === 1 ? ANN : BEN),
  );
}

/** Has that channel summarised, and a note kept, with Ann's words in both. @param folder of the notes */
export async function summariseAndNote(
  { open, server }: Scene,
  weir: TestWeir,
  folder: string,
): Promise<void> {
  script(
    server,
    ({ messages }) => text(JSON.stringify(messages).includes(OURS) ? `${SUMMARY} ${OURS}` : SUMMARY),
    ({ messages }) =>
      messages.at(-1)?.role !== "tool" && JSON.stringify(messages).includes(OURS)
        ? toolCalls([{ name: "note", arguments: { text: `it is about ${OURS}` } }])
        : text("noted", { usage: "none" }),
  );
  await ask(weir, server, "busy", "what was said?");
  await compaction(weir, "busy", "committed");
  await quiet(weir, "busy");
  const planted = await rowsWith(open, OURS);
  for (const table of ["entries", "memories", "notes", "summaries"])
    assert.ok(planted.includes(table), table);
  assert.match((await textsBelow(folder)).join("\n"), new RegExp(OURS));
}
