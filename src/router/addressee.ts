import { memberNamed, mentionForm, type Team, type TeamMember } from "../core/team.ts";

/** The parts of a message that show whom it addresses. */
export interface Addressed {
  readonly text: string;
  /** Names of people (and of the bot) in the platform's own mentions, as they follow `@` in the text. */
  readonly mentions?: readonly string[];
  readonly mentionedRoles?: readonly string[];
}

export interface Addressee {
  readonly member: TeamMember;
  /** It is the command `/ask`, and no other command. */
  readonly isAsk: boolean;
}

/** Longest text that is searched, in UTF-16 units: an address is at the beginning. */
const LOOKED_THROUGH = 20_000;
/** Fenced and inline code is quoted text. */
const CODE = /```[\s\S]*?(?:```|$)|`[^`\n]*`/g;
/** A character that continues a word after a name. */
const IN_WORD = /[\p{L}\p{N}_-]/u;
/** A character before an `@` that makes it an e-mail address, such as `ann@researcher.org`. */
const IN_ADDRESS = /[\p{L}\p{N}_.+-]/u;
/** `/ask researcher what is it?`, after a mention of the bot or alone; the text may have several lines. */
const ASK = /^(?:@[^\s,:]+[\s,:]+)?\/ask[ \t]+@?(\S+?)[,:]?\s+\S/i;

/**
 * Which of several agents a message addresses: the first that it names, by `@` and any of its names, by its role, or by `/ask
 * NAME`. A platform's own mention always means that person, whatever their name. All rules for this are here. Pure.
 * @returns undefined: no agent is named, and the platform's own flag decides whether the channel's agent is addressed
 */
export function addresseeOf(team: Team, message: Addressed): Addressee | undefined {
  if (team.length === 0) return undefined;
  const asked = askedBy(team, message.text);
  if (asked !== undefined) return { member: asked, isAsk: true };
  const member = mentionedIn(team, message) ?? byRole(team, message.mentionedRoles ?? []);
  return member === undefined ? undefined : { member, isAsk: false };
}

function askedBy(team: Team, text: string): TeamMember | undefined {
  const [, name] = ASK.exec(text.trimStart().slice(0, 200)) ?? [];
  return name === undefined ? undefined : memberNamed(team, name);
}

function mentionedIn(team: Team, { text, mentions = [] }: Addressed): TeamMember | undefined {
  const words = text.slice(0, LOOKED_THROUGH).replaceAll(CODE, (code) => " ".repeat(code.length));
  // The longest first: `@ann-marie` is not `ann`.
  const people = mentions.toSorted((a, b) => b.length - a.length);
  const names = team
    .flatMap((member) => member.names.map((name) => ({ member, form: mentionForm(name) })))
    .filter(({ form }) => form !== "")
    .toSorted((a, b) => b.form.length - a.form.length);
  for (let at = words.indexOf("@"); at !== -1; at = words.indexOf("@", at + 1)) {
    if (at > 0 && IN_ADDRESS.test(words[at - 1] ?? "")) continue;
    const rest = words.slice(at + 1);
    const person = people.find((name) => name !== "" && rest.startsWith(name) && endsWord(rest, name.length));
    if (person !== undefined) continue;
    const found = names.find(({ form }) => startsWith(rest, form));
    if (found !== undefined) return found.member;
  }
  return undefined;
}

/** Whether a text begins with a name as a whole word, in any case. */
function startsWith(rest: string, form: string): boolean {
  const begin = rest.slice(0, form.length);
  return mentionForm(begin) === form && endsWord(rest, form.length);
}

/** `@res-2` and `@res_b` are other words than `@res`; `@res-` and `@res.` are not. */
function endsWord(rest: string, length: number): boolean {
  const [first = "", second = ""] = rest.slice(length, length + 2);
  if (first !== "-") return !IN_WORD.test(first);
  return !IN_WORD.test(second);
}

function byRole(team: Team, roles: readonly string[]): TeamMember | undefined {
  // This only chooses among agents who answer there anyway, so a role's name counts, whoever made the role.
  const wanted = new Set(roles.map(mentionForm));
  return team.find((member) => member.roles.some((role) => wanted.has(mentionForm(role.replace(/^@/, "")))));
}
