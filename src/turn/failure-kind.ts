import type { ModelError } from "../llm/model.ts";
import type { FailureKind } from "../prompts/load.ts";

type ModelFailureKind = Extract<
  FailureKind,
  "too_long" | "misconfigured" | "unavailable" | "moderated" | "unpaid" | "loading"
>;

/** The kind of a model's failure, as people and agents see it. */
export function failureKind({ kind, reason }: ModelError): ModelFailureKind {
  if (reason === "moderation") return "moderated";
  if (reason === "quota") return "unpaid";
  if (reason === "loading") return "loading";
  if (kind === "context_length") return "too_long";
  return kind === "unauthorized" || kind === "rejected" || kind === "redirected"
    ? "misconfigured"
    : "unavailable";
}
