import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { InboundMessage } from "../../../src/core/message.ts";
import { hand, open } from "./open-intake.ts";
import { HOME, said } from "./scripted-history.ts";

const FRESH = { isBound: true, listens: true, answersAll: false, isKnown: false };

/** A channel that is new to Weir, in which these were said before 200. */
function fresh(
  past: readonly InboundMessage[],
  answersAll = false,
): ReturnType<typeof open> & { readonly hear: () => Promise<void> } {
  const scene = open();
  scene.inbox.policy = () => ({ ...FRESH, answersAll, isKnown: scene.inbox.events.length > 0 });
  for (const message of past) scene.history.messages.push({ message, editedAt: null });
  return { ...scene, hear: async () => void (await hand(scene.intake, said(200), HOME)) };
}

describe("what was said right before the first message that Weir hears of a channel", () => {
  test("is to be answered where it was meant for it: its event is late", async () => {
    const addressed = true;
    const { intake, history, got, hear } = fresh([
      said(70, { addressed }),
      said(90, { addressed }),
      said(95),
      said(100, { addressed }),
    ]);
    await hear();
    assert.deepEqual(got(), ["+70", "*90", "+95", "*100", "+200"]);
    assert.deepEqual(history.read, ["90", "100"], "with its files");
    assert.equal((await hand(intake, said(90, { addressed }), HOME))?.outcome, "duplicate");
    intake.close();
  });

  test("is to be answered without a mention where everything is", async () => {
    const { inbox, intake, hear } = fresh([said(70), said(90)], true);
    await hear();
    const taken = inbox.events.map((event) => [event.id, event.type === "message" && event.isBackground]);
    assert.deepEqual(taken, [
      ["70", true],
      ["90", undefined],
      ["200", undefined],
    ]);
    intake.close();
  });

  test("is context in a thread where it stands above it", async () => {
    const { history, intake, got, hear } = fresh([said(90, { addressed: true })]);
    history.isOwn = () => false;
    await hear();
    assert.deepEqual(got(), ["+90", "+200"]);
    intake.close();
  });
});
