import type { Writable } from "node:stream";
import { WeirError } from "../../core/errors.ts";

/** The reader of the terminal's output has closed it, so output is lost. */
export class OutputClosedError extends WeirError {
  readonly retryable = false;
}

/** Writes to a stream. A write resolves when the stream has accepted it, and a closed pipe is an ordinary event. */
export class Output {
  readonly #stream: Writable;
  readonly #closed = Promise.withResolvers<void>();
  /** Resolves when the output is closed; never rejects. */
  readonly closed = this.#closed.promise;
  #isClosed = false;

  constructor(stream: Writable) {
    this.#stream = stream;
    stream.on("error", this.#onClosed);
    stream.on("close", this.#onClosed);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /**
   * Writes a text in one piece: other output comes before or after it. Resolves once it is written.
   * @throws OutputClosedError
   */
  async write(text: string): Promise<void> {
    if (this.#isClosed) throw new OutputClosedError("the output is closed");
    await new Promise<void>((resolve, reject) => {
      this.#stream.write(text, (error) => {
        if (error) reject(new OutputClosedError("the output was closed", { cause: error }));
        else resolve();
      });
    });
  }

  /** Lets go of the stream; it stays open. */
  release(): void {
    this.#stream.off("close", this.#onClosed);
    // The error listener stays: an error of a stream without one would end the process.
  }

  readonly #onClosed = (): void => {
    this.#isClosed = true;
    this.#closed.resolve();
  };
}
