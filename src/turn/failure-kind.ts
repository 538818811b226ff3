import type { ModelError } from "../llm/model.ts";
import type { FailureKind } from "../prompts/load.ts";

type ModelFailureKind = Extract<
  FailureKind,
  "too_long" | "misconfigured" | "unavailable" | "moderated" | "unpaid" | "loading"
>;

/** What people, or an agent, are told of a model that gave no answer. */
export function failureKind({ kind, reason }: ModelError): ModelFailureKind {
  if (reason === "moderation") return "moderated";
  if (reason === "quota") return "unpaid";
  if (reason === "loading") return "loading";
  if (kind === "context_length") return "too_long";
  return kind === "unauthorized" || kind === "rejected" || kind === "redirected"
    ? "misconfigured"
    : "unavailable";
}
