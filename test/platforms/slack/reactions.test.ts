import assert from "node:assert/strict";
import { test } from "node:test";
import { PlatformError } from "../../../src/platforms/platform.ts";
import { openSlackScene } from "./slack-harness.ts";

test("an emoji that Slack or we do not know is refused, as is one under a message that is gone", async () => {
  await using scene = await openSlackScene();
  const { slack, ana, general, platform } = scene;
  const channel = { platform: "slack", name: general.id };
  const said = `${general.id}/${slack.world.say(ana, general, "well done")}`;
  const kindOf = async (emoji: string, messageId = said): Promise<string> => {
    try {
      await platform.react?.(channel, messageId, emoji);
      return "shown";
    } catch (error) {
      assert.ok(error instanceof PlatformError);
      return error.kind;
    }
  };
  for (const emoji of ["❤️", ":shipit:", "Tada"]) assert.equal(await kindOf(emoji), "shown", emoji);
  assert.deepEqual([...(slack.messages(general)[0]?.reactions.keys() ?? [])], ["heart", "shipit", "tada"]);
  for (const emoji of ["\u{10FFFF}", "🎉🎉", "well done", "<b>"])
    assert.equal(await kindOf(emoji), "rejected", emoji);
  slack.faults.next({ method: "reactions.add", fault: "error", error: "invalid_name" });
  assert.equal(await kindOf(":nonsense:"), "rejected");
  slack.faults.next({ method: "reactions.add", fault: "error", error: "missing_scope" });
  assert.equal(await kindOf("👍"), "gone");
  assert.equal(await kindOf("👍", `${general.id}/1700000000.000100`), "gone");
  slack.faults.next({ method: "reactions.add", fault: "reset_before" });
  assert.equal(await kindOf("👍"), "unavailable");
});
