import { WeirError } from "../../../src/core/errors.ts";

/** What a log throws that takes nothing just now. */
export class AwayError extends WeirError {
  readonly retryable = true;
}
