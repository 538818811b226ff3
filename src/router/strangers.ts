import type { InboundMessage } from "../core/message.ts";

/** Somebody whose direct messages are answered because they were let in. */
export interface LetInPerson {
  readonly since: Date;
  /** Up to here, by the platform's clock, they wrote as a stranger; null: they never did. */
  readonly unreadTo: Date | null;
  /** Their messages of just that time: later ones may have the same, for a platform's clock may be coarse. */
  readonly unreadIds: readonly string[];
}

/** @returns null: they were not let in. It counts where a binding has `dmLetsIn`. */
export type FindLetIn = (platform: string, person: string) => LetInPerson | null;

/** What becomes of people who send direct messages and whom the configuration does not name. */
export interface Strangers {
  readonly find: FindLetIn;
  /** The answer to a stranger's command. */
  readonly commandAnswer: string;
  /**
   * Handles a stranger's direct message.
   * @returns true: they were let in in the meantime
   * @throws WeirError if the database does not answer
   */
  meet(message: InboundMessage): Promise<boolean>;
  /**
   * Reads who was let in, if a binding lets people in and it was not read yet.
   * @throws WeirError if the database does not answer
   */
  open(): Promise<void>;
}

/** Nobody is let in whom the configuration does not name. */
export const NO_STRANGERS: Strangers = {
  find: () => null,
  commandAnswer: "",
  meet: async () => false,
  open: async () => undefined,
};
