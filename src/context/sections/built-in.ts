import type { BuiltInKind, Section } from "../../core/context.ts";
import { BUILT_IN_KINDS } from "./section.ts";

/** A section's properties besides its kind. */
export interface BuiltIn extends Pick<Section, "text" | "characters" | "tokens"> {
  readonly evidence?: readonly string[];
}

/** A section that Weir itself puts into a context. Pure. */
export function builtInSection(kind: BuiltInKind, known: BuiltIn): Section {
  const { priority, isProtected, place, scope, label, source, reason } = BUILT_IN_KINDS[kind];
  // The emergency has fitted it before it becomes a section.
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
