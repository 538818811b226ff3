import { createHash } from "node:crypto";
import type { Refused } from "../dialect.ts";
import { notify } from "../notify.ts";
import { type ChatServer, nameAtServer } from "../chat/chat-request.ts";
import { type Lessons, NO_LESSONS } from "./known-windows.ts";
import { LearnedKeeper, type LearnedModels } from "./learned-models.ts";
import { type LearnedRefusals, RefusedFields } from "./refused-fields.ts";

/** Where lessons are stored; default: nowhere. */
export interface LessonKeepers extends Pick<Lessons, "onWindowLearned" | "onSilentCut"> {
  readonly learned?: LearnedModels;
  readonly refusals?: LearnedRefusals;
  /** Called for a lesson that could not be stored. */
  readonly onNotKept?: (error: unknown) => void;
  /** Called once for each field that a model has refused, and that is no longer sent. */
  readonly onRefused?: (model: string, refused: Refused) => void;
}

/** The key of an address' stored lessons: a hash, since the address may have a key in its path. Pure. */
export function lessonKey(baseUrl: string): string {
  return createHash("sha256").update(baseUrl).digest("hex").slice(0, 32);
}

/** The lessons of a server's models, with the writes that store new ones, under the server's names. */
export function openLessons(at: ChatServer, options: LessonKeepers): KeptLessons {
  const { learned, refusals, onNotKept, onRefused, onSilentCut, onWindowLearned } = options;
  const keeper = new LearnedKeeper(onNotKept ?? (() => undefined));
  const end = async (): Promise<void> => keeper.end();
  const server = lessonKey(at.baseUrl);
  const refused = new RefusedFields((model, one) => {
    notify(onRefused, `${at.prefix ?? ""}${model}`, one);
    if (refusals !== undefined)
      keeper.keep(`${one.field} ${one.value} of ${model}`, async () => refusals.keep(server, model, one));
  });
  const recallRefused = async (): Promise<void> => {
    for (const row of (await refusals?.load(server)) ?? []) refused.recall(row.model, row.refused);
  };
  const told = { ...(onSilentCut && { onSilentCut }), ...(onWindowLearned && { onWindowLearned }) };
  const kept = { refused, recallRefused, end, ...told };
  if (learned === undefined) return { ...NO_LESSONS, ...kept };
  return {
    ...kept,
    load: async () =>
      (await learned.load(server)).map((one) => ({ ...one, model: `${at.prefix ?? ""}${one.model}` })),
    keepWindow: (model, window) =>
      keeper.keep(`window of ${model}`, async () =>
        learned.keepWindow(server, nameAtServer(model, at), window),
      ),
    keepFactor: (model, factor) =>
      keeper.keep(`factor of ${model}`, async () =>
        learned.keepFactor(server, nameAtServer(model, at), factor),
      ),
    now: () => new Date(),
  };
}

export interface KeptLessons extends Lessons {
  readonly refused: RefusedFields;
  recallRefused(): Promise<void>;
  /** Waits briefly for pending writes. */
  end(): Promise<void>;
}
