import type { BuiltInKind, Section } from "../../core/context.ts";
import { SECTION_KINDS } from "./section.ts";

/** What is known of a section beside its kind. */
export interface BuiltIn extends Pick<Section, "source" | "reason" | "text" | "characters" | "tokens"> {
  readonly evidence?: readonly string[];
}

/** A section of what Weir itself puts into a context. Pure. */
export function builtInSection(kind: BuiltInKind, known: BuiltIn): Section {
  const { priority, isProtected, place, scope, label } = SECTION_KINDS[kind];
  // Emergency makes it fit before it becomes a section.
  return {
    key: kind,
    kind,
    label,
    scope,
    priority,
    isProtected,
    place,
    state: "whole",
    evidence: [],
    ...known,
  };
}
