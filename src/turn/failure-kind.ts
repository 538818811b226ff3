import type { ModelError } from "../llm/model.ts";
import type { FailureKind } from "../prompts/load.ts";

/** What people, or an agent, are told of a model that gave no answer. */
export function failureKind({
  kind,
}: ModelError): Extract<FailureKind, "too_long" | "misconfigured" | "unavailable"> {
  if (kind === "context_length") return "too_long";
  return kind === "unauthorized" || kind === "rejected" || kind === "redirected"
    ? "misconfigured"
    : "unavailable";
}
