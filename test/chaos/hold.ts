/** A place at which something can be made to wait, and of which a test learns that it does. */
export class Hold {
  #armed: PromiseWithResolvers<void> | null = null;
  #reached = Promise.withResolvers<void>();

  /** The next one that comes by waits until `release`. */
  arm(): void {
    this.#armed ??= Promise.withResolvers<void>();
    this.#reached = Promise.withResolvers<void>();
  }

  /** Resolves when somebody waits here. */
  get reached(): Promise<void> {
    return this.#reached.promise;
  }

  get isArmed(): boolean {
    return this.#armed !== null;
  }

  release(): void {
    this.#armed?.resolve();
    this.#armed = null;
  }

  /** Waits if it is armed. */
  async pass(): Promise<void> {
    if (this.#armed === null) return;
    this.#reached.resolve();
    await this.#armed.promise;
  }
}
