import { type MainHome, openMainHome } from "../e2e-main.ts";

/** The folders of a cluster's daemons by name, each made on first use. */
export class DaemonHomes implements AsyncDisposable {
  readonly #config: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #stack = new AsyncDisposableStack();
  readonly #homes = new Map<string, MainHome>();

  /** @param config of all of them, which ends within `[cluster]`; @param env see {@link openMainHome} */
  constructor(config: string, env: NodeJS.ProcessEnv) {
    this.#config = config;
    this.#env = env;
  }

  async of(name: string): Promise<MainHome> {
    const home = this.#homes.get(name) ?? (await this.another(name));
    this.#homes.set(name, home);
    return home;
  }

  /** Makes another folder for a daemon of that name. */
  async another(name: string): Promise<MainHome> {
    return this.#stack.use(await openMainHome(`${this.#config}name = "${name}"\n`, this.#env));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}
