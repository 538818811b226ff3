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

/** The agents of a channel, its own agent first; empty if that one is alone. */
export type Team = readonly TeamMember[];

/** Longest name that is looked up: the normal form of many marks on one letter takes quadratic time. */
const LONGEST_ASKED = 1000;

/** Equal for names that people would read as the same. */
export function mentionForm(name: string): string {
  return name.slice(0, LONGEST_ASKED).normalize("NFKC").toLowerCase().replaceAll(/\s+/g, " ").trim();
}

/** The member with this name; undefined: there is no such member. Pure. */
export function memberNamed(team: Team, wanted: string): TeamMember | undefined {
  if (wanted.length > LONGEST_ASKED) return undefined;
  const form = mentionForm(wanted.trim().replace(/^@/, ""));
  return team.find(({ names }) => names.some((name) => mentionForm(name) === form));
}
