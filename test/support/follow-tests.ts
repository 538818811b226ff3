/**
 * Import it before `node:test`, which uses asynchronous hooks to find the test of the running code: Node calls them for
 * each created and each collected promise. Here an `AsyncLocalStorage` does that instead.
 */
import hooks, { AsyncLocalStorage, AsyncResource, type HookCallbacks } from "node:async_hooks";

/** The id of the test that the running code belongs to. */
const current = new AsyncLocalStorage<number>();
let told: HookCallbacks = {};

/** The class from which `node:test` derives its tests. */
class FollowedResource extends AsyncResource {
  constructor(type: string) {
    super(type);
    told.init?.(this.asyncId(), type, 0, this);
  }

  override runInAsyncScope<This, Args extends unknown[], Result>(
    run: (this: This, ...args: Args) => Result,
    self: This,
    ...args: Args
  ): Result {
    const id = this.asyncId();
    return super.runInAsyncScope(() => current.run(id, () => Reflect.apply(run, self, args)));
  }
}

const { createHook, executionAsyncId } = hooks;
Object.assign(hooks, {
  AsyncResource: FollowedResource,
  createHook(callbacks: HookCallbacks) {
    told = callbacks;
    return { enable: () => undefined, disable: () => undefined };
  },
  executionAsyncId: () => current.getStore() ?? 0,
});
await import("node:test");
// `node:test` keeps its references; other code must not get these.
Object.assign(hooks, { AsyncResource, createHook, executionAsyncId });
