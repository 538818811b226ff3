import { isPresent, type Member } from "../../store/channels/members.ts";
import { displayableLine } from "../../text/displayable.ts";

/*
 * Daemons of a cluster sign what they learn with one key. It is in a file of each and never in the database, because a writer of the
 * database could sign with it. An operator copies it; these reports show where that was forgotten.
 */

export interface KeyProblem {
  readonly detail: string;
  /** The remedy. */
  readonly todo: string;
}

type Holder = Pick<Member, "name" | "host" | "keyId" | "silentMs">;

const UNBELIEVED = "what they learn of how to answer is believed by one side alone";

function listed(holders: readonly Holder[]): string {
  return holders.map(({ name, host }) => displayableLine(`${name} (on ${host})`)).join(", ");
}

/**
 * The problem of one daemon's key, compared with those of the other present daemons, and the remedy; null: there is no problem.
 * Pure.
 * @param own its key; null: it has no key
 * @param file the key's file, whether or not it exists
 */
export function describeOwnKey(
  own: string | null,
  others: readonly Holder[],
  file: string,
): KeyProblem | null {
  const strangers = others.filter((one) => isPresent(one) && one.keyId !== null && one.keyId !== own);
  if (strangers.length === 0) return null;
  const theirs = listed(strangers);
  if (own === null)
    return {
      detail: `there is no ${file}, and others that are there sign with one, ${theirs}: this daemon believes nothing of what was learned of how to answer, and learns nothing`,
      todo: "copy signing.key from a data folder there into this one's, readable for its owner alone; this daemon need not be started again",
    };
  return {
    detail: `${file} is another key than that of ${theirs}: ${UNBELIEVED}`,
    todo: "copy the signing.key whose wishes are to stay over the other one, and start the daemon there again: those of the other key count no more",
  };
}

/** A warning if the present daemons have different keys, in lines for a person; empty: they agree. Pure. */
export function describeKeys(daemons: readonly Holder[]): string[] {
  const present = daemons.filter(isPresent);
  const keys = [...new Set(present.map(({ keyId }) => keyId))];
  if (keys.length < 2) return [];
  const groups = keys.map((key) => {
    const names = listed(present.filter(({ keyId }) => keyId === key));
    return `${names} ${key === null ? "has none" : `has ${key}`}`;
  });
  return [
    `Not all sign with the same key, so ${UNBELIEVED}: ${groups.join("; ")}. Copy signing.key from one data folder to the others.`,
  ];
}
