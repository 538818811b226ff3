/** `node --test --test-global-setup=…` calls these two, in the process that starts the test processes. */
import {
  CODE_CACHE,
  CONNECTION_VARIABLE,
  startTestServer,
  type TestServer,
  URL_VARIABLE,
} from "./test-server.ts";

let server: TestServer | null = null;

/** One server for the whole run; a test file gets a database of its own by `createTestDatabase`. */
export async function globalSetup(): Promise<void> {
  process.env["NODE_COMPILE_CACHE"] ??= CODE_CACHE;
  const url = process.env[URL_VARIABLE];
  if (url === undefined) server = await startTestServer();
  process.env[CONNECTION_VARIABLE] = JSON.stringify(server?.connection ?? { url });
}

export async function globalTeardown(): Promise<void> {
  await server?.[Symbol.asyncDispose]();
}
