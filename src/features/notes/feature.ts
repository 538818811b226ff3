/**
 * Notes: lines that an agent writes into files of its folder, of each channel apart (`note-keeper.ts`). A turn reads and writes them by
 * `turn-notes.ts`; when a message is edited or deleted, `note-sweeper.ts` deletes the lines that repeat it from the files.
 */

import { z } from "zod";
import { hasOwnFolder } from "../../agent-files/agent-folder.ts";
import { sceneOf } from "../../channel/turns/turn-channel.ts";
import type { Feature } from "../feature.ts";
import { type NoteKit, NOTES, type NoteRequest } from "./key.ts";
import { keeperOf } from "./note-keeper.ts";
import { NoteStore } from "./note-store.ts";
import { NoteSweeper } from "./note-sweeper.ts";
import { NO_NOTES, readNotes, TurnNotes } from "./turn-notes.ts";
import { defineTool, type ToolContext, type ToolOutcome } from "../../tools/tool.ts";

async function write({ kitOf }: ToolContext, request: NoteRequest): Promise<ToolOutcome> {
  return { kind: "result", text: await kitOf(NOTES).write(request), references: [] };
}

/** `note`: writes a line into today's note of this channel. */
export const note = defineTool({
  name: "note",
  writesFolder: true,
  leftOutBy: "notes = false",
  input: z.strictObject({ text: z.string().trim().min(1).max(2000) }),
  run: async ({ text }, context) => write(context, { kind: "note", text, replaces: null }),
});

/** `memory_write`: adds, replaces or removes a line of this channel's MEMORY.md. */
export const memoryWrite = defineTool({
  name: "memory_write",
  writesFolder: true,
  leftOutBy: "notes = false",
  input: z.strictObject({
    text: z.string().trim().max(2000),
    replaces: z.string().trim().min(1).max(2000).optional(),
  }),
  run: async ({ text, replaces = null }, context) => write(context, { kind: "memory", text, replaces }),
});

export const notes: Feature<null, NoteKit> = {
  key: NOTES,
  toolsOf: ({ id, notes: mayWrite }, agentsDir) =>
    mayWrite && hasOwnFolder(agentsDir, id) ? [memoryWrite, note] : [],
  async channelFiles(database, channel, agent) {
    const keeper = keeperOf(agent);
    if (keeper === null) return [];
    const where = { channel: channel.id, agent: agent.config.id, fileNames: sceneOf(channel).fileNames };
    return readNotes(new NoteStore(database), keeper, where);
  },
  open({ database, setup, log }) {
    const store = new NoteStore(database);
    const sweeper = new NoteSweeper(store, log, () => {
      const { config, agents } = setup();
      return new Map(
        config.agents.flatMap(({ id }) => {
          const keeper = keeperOf(agents.of(id).agent);
          return keeper === null ? [] : [[id, keeper]];
        }),
      );
    });
    return {
      service: null,
      kitOf(site) {
        const keeper = keeperOf(site.agent);
        if (keeper === null) return NO_NOTES;
        return new TurnNotes({ ...site, notes: store }, site.turn.id, keeper, sceneOf(site).fileNames);
      },
      filesOf: async (kitOf) => kitOf(NOTES).read(),
      work: () => sweeper,
      sweepFiles: async () => sweeper.sweep(),
      [Symbol.asyncDispose]: async () => sweeper[Symbol.asyncDispose](),
    };
  },
};
