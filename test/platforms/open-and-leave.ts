import { createLoopback } from "../../src/platforms/local/loopback/adapter.ts";
import { startLoopbackServer } from "../../src/platforms/local/loopback/server.ts";
import { createProcessTerminal } from "../../src/platforms/terminal/process-terminal.ts";
import { outbound } from "./contract.ts";
import { QUIET_LOG } from "./local/loopback/loopback-harness.ts";
import { RecordingInbox } from "./recording-inbox.ts";
import { ManualTurns } from "./terminal/terminal-harness.ts";

/**
 * A process that uses a platform, disposes of it, and has nothing more to do: it ends by itself if and only if
 * nothing was left open. Its standard input stays open all the while.
 */
if (process.argv[2] === "loopback") {
  await using server = await startLoopbackServer();
  await using platform = createLoopback({ url: server.url, log: QUIET_LOG });
  const inbox = new RecordingInbox();
  await platform.start(inbox, inbox);
  await platform.send(outbound({ platform, channel: "main" }, { text: "hi" }));
} else {
  const session = {
    channel: "main",
    agent: "main",
    speaker: "ana",
    multi: false,
    commands: [],
    noColour: true,
    exportsTo: ".",
  };
  const jsonl = process.argv[2] === "jsonl";
  await using platform = createProcessTerminal({ ...session, jsonl, turns: new ManualTurns() });
  await platform.start(new RecordingInbox());
  await platform.send(outbound({ platform, channel: "main" }, { text: "hi" }));
}
