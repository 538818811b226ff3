import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import process from "node:process";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { join } from "node:path";

const COMMAND = pathToFileURL(join(import.meta.dirname, "../../../src/admin/commands/command.ts")).href;

/** The zone of a command in another process, whose own zone is `TZ`. */
function zone(machine: string, platform: string, agent: string): string {
  const script = `
    const { zoneOf } = await import(${JSON.stringify(COMMAND)});
    const agentOf = () => ({ config: { timeZone: ${JSON.stringify(agent)} } });
    process.stdout.write(zoneOf({ agentOf }, { address: { platform: ${JSON.stringify(platform)}, name: "main" } }));`;
  return execFileSync(process.execPath, ["--input-type=module", "--eval", script], {
    env: { ...process.env, TZ: machine },
    encoding: "utf8",
  });
}

test("times at the terminal are this machine's, where nobody has set the agent's zone", () => {
  assert.equal(zone("Asia/Tokyo", "terminal", "UTC"), "Asia/Tokyo");
  assert.equal(zone("Asia/Tokyo", "discord", "UTC"), "UTC");
  assert.equal(zone("Asia/Tokyo", "terminal", "Europe/Berlin"), "Europe/Berlin");
  assert.equal(zone("No/Where", "terminal", "UTC"), "UTC");
});
