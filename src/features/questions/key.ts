import type { FeatureKey } from "../../core/feature-key.ts";
import type { QuestionDesk } from "./question-desk.ts";
import type { QuestionStore } from "./question-store.ts";

/** What commands work with. */
export interface Questions extends Pick<QuestionDesk, "decide" | "answer"> {
  readonly store: Pick<QuestionStore, "find" | "open" | "choices" | "rules" | "endRule">;
}

export const QUESTIONS: FeatureKey<Questions> = { name: "questions" };
