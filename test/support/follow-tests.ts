/**
 * To be imported before `node:test`, which tells by asynchronous hooks to which test the running code belongs: Node calls them
 * for each promise that is made and for each that is collected. Here an `AsyncLocalStorage` tells it instead.
 */
import hooks, { AsyncLocalStorage, AsyncResource, type HookCallbacks } from "node:async_hooks";

/** The id of the test that the running code belongs to. */
const current = new AsyncLocalStorage<number>();
let told: HookCallbacks = {};

/** What `node:test` derives its tests from. */
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
// It keeps what it has found: nobody else is to find it.
Object.assign(hooks, { AsyncResource, createHook, executionAsyncId });
