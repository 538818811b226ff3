/**
 * Files that an agent sends behind its answer. The log's calls are all that is kept of them: the outbox makes the files of them, as
 * further parts of the answer, when it delivers (`core/attached-file.ts`).
 */

import { z } from "zod";
import type { TurnSite } from "../../channel/channel-context.ts";
import {
  ATTACH,
  attachedBy,
  attachedResult,
  type AttachRequest,
  fileName,
  type FileSource,
  MOST_FILE_BYTES,
  MOST_FILES,
  MOST_PICTURE_BYTES,
  newestOf,
  pictureName,
} from "../../core/attached-file.ts";
import type { Entry } from "../../core/entry.ts";
import type { TurnId } from "../../core/ids.ts";
import { formatSize } from "../../text/format.ts";
import { ToolFailure, defineTool } from "../../tools/tool.ts";
import type { Feature } from "../feature.ts";
import { ATTACHING, type AttachingKit } from "./key.ts";

/** Bounds are reported when they are exceeded: in the schema every request would pay for them. */
const Words = z.string();

/** `attach`: sends a text or a picture as a file behind the answer. */
const attach = defineTool({
  name: "attach",
  leftOutBy: "files.attach = false",
  input: z
    .strictObject({
      name: Words,
      text: Words.optional(),
      result_of: Words.optional(),
      picture_of: Words.optional(),
    })
    .refine(
      (given) =>
        [given.text, given.result_of, given.picture_of].filter((one) => one !== undefined).length === 1,
      { message: "Give one of text, result_of and picture_of." },
    ),
  async run({ name, text, result_of: resultOf, picture_of: pictureOf }, { kitOf, askedIn }) {
    const told = await kitOf(ATTACHING).attach({ name, text, resultOf, pictureOf }, askedIn);
    return { kind: "result", text: told, references: [] };
  },
});

export const files: Feature<null, AttachingKit> = {
  key: ATTACHING,
  toolsOf: ({ files: option }) => (option.attach ? [attach] : []),
  open: () => ({ service: null, kitOf: kitFor }),
};

/** What a call asks for, before it is a file. */
interface Found {
  readonly name: string;
  readonly bytes: number;
  readonly source: FileSource | null;
}

function kitFor({ platform, history, turn, store, owner }: TurnSite): AttachingKit {
  /** Calls of one answer run at once, and are not in the log yet. */
  const names = new Set<string>();
  const ofTurn = (): Entry[] =>
    history.current.entries.filter(
      (entry) => (entry.kind === "tool_call" || entry.kind === "tool_result") && entry.turnId === turn.id,
    );
  const find = async (request: AttachRequest, askedIn: TurnId): Promise<Found | null> => {
    const { text, resultOf, pictureOf } = request;
    const name = fileName(request.name);
    if (text !== undefined) return { name, bytes: Buffer.byteLength(text), source: null };
    const entries = askedIn === turn.id ? ofTurn() : await store.log.readCalls(owner.channel, askedIn);
    const results = entries.filter((entry) => entry.kind === "tool_result");
    if (pictureOf === undefined) {
      const result = newestOf(results, resultOf ?? "");
      if (result === undefined || result.tool === ATTACH) return null;
      return { name, bytes: Buffer.byteLength(result.text), source: { seq: result.seq, picture: null } };
    }
    const kept = await store.attached.ofResults(askedIn, []);
    const shown = results.filter(({ seq }) => kept.some((picture) => picture.seq === seq));
    const result = newestOf(shown, pictureOf);
    const picture = kept.find(({ seq }) => seq === result?.seq);
    if (result === undefined || picture === undefined) return null;
    return {
      name: pictureName(request.name, picture.type),
      bytes: picture.bytes?.length ?? 0,
      source: { seq: result.seq, picture: 1 },
    };
  };
  return {
    async attach(request, askedIn) {
      if (platform.capabilities.takesFiles !== true)
        throw new ToolFailure("Nothing was attached: no files can be sent here. Say it in your answer.");
      const found = await find(request, askedIn ?? turn.id);
      for (const { name } of attachedBy(ofTurn()) ?? []) names.add(name);
      if (names.size >= MOST_FILES)
        throw new ToolFailure(`Nothing was attached: an answer has at most ${MOST_FILES} files.`);
      const what = request.pictureOf === undefined ? "text" : "picture";
      if (found === null || found.bytes === 0)
        throw new ToolFailure(`Nothing was attached: there is no such ${what}, or it is empty.`);
      const { name, bytes, source } = found;
      // By its name a file is known again after an interruption.
      if (names.has(name)) throw new ToolFailure(`Nothing was attached: ${name} is attached already.`);
      const most = request.pictureOf === undefined ? MOST_FILE_BYTES : MOST_PICTURE_BYTES;
      if (bytes > most)
        throw new ToolFailure(
          `Nothing was attached: the ${what} has ${formatSize(bytes)}, and a file at most ${formatSize(most)}.`,
        );
      names.add(name);
      return attachedResult(name, formatSize(bytes), source);
    },
  };
}
