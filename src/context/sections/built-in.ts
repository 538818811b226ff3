import type { BuiltInKind, Section } from "../../core/context.ts";
import { BUILT_IN_KINDS } from "./section.ts";

/** What is known of a section beside its kind. */
export interface BuiltIn extends Pick<Section, "text" | "characters" | "tokens"> {
  readonly evidence?: readonly string[];
}

/** A section of what Weir itself puts into a context. Pure. */
export function builtInSection(kind: BuiltInKind, known: BuiltIn): Section {
  const { priority, isProtected, place, scope, label, source, reason } = BUILT_IN_KINDS[kind];
  // Emergency makes it fit before it becomes a section.
  return {
    key: kind,
    kind,
    label,
    source,
    reason,
    scope,
    priority,
    isProtected,
    place,
    state: "whole",
    evidence: [],
    ...known,
  };
}
