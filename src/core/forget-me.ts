const ABOUT_ME = /^(?:(?:all|everything) about )?me( everywhere)?( yes)?$/;

/** An argument of `/forget` about all of the asker's own messages. */
export interface ForgetMe {
  readonly isEverywhere: boolean;
  /** `yes` was given: the command runs without a question. */
  readonly isConfirmed: boolean;
}

/** @returns null: it has another subject */
export function readForgetMe(argument: string): ForgetMe | null {
  const found = ABOUT_ME.exec(argument.trim().toLowerCase().replaceAll(/\s+/g, " "));
  if (found === null) return null;
  return { isEverywhere: found[1] !== undefined, isConfirmed: found[2] !== undefined };
}
