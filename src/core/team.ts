import type { AgentId } from "./ids.ts";

/** Somebody who can be asked in a channel. */
export interface TeamMember {
  /** Null: the channel's own agent. */
  readonly agent: AgentId | null;
  /** As people read it. */
  readonly name: string;
  /** All names by which people mention it: its id, its name, its aliases. */
  readonly names: readonly string[];
  /** Ids and names of roles whose mention means it. */
  readonly roles: readonly string[];
}

/** Who can be asked in a channel, its own agent first; empty: that one alone. */
export type Team = readonly TeamMember[];

/** Nobody has a longer name; the normal form of many marks on one letter takes quadratic time. */
const LONGEST_ASKED = 1000;

/** Equal for names that mean the same to whoever types them. */
export function mentionForm(name: string): string {
  return name.slice(0, LONGEST_ASKED).normalize("NFKC").toLowerCase().replaceAll(/\s+/g, " ").trim();
}

/** The member that has this name; undefined: none. Pure. */
export function memberNamed(team: Team, wanted: string): TeamMember | undefined {
  if (wanted.length > LONGEST_ASKED) return undefined;
  const form = mentionForm(wanted.trim().replace(/^@/, ""));
  return team.find(({ names }) => names.some((name) => mentionForm(name) === form));
}
